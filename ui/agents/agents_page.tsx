import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { AgentSession } from "../../server/agent_monitor/schema.ts";
import { Segmented } from "../parts/button.tsx";
import { Empty, Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { speak } from "../parts/toast.tsx";
import { count, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useProject, useProjects, useWorkspace } from "../state/project.ts";
import { type Group, useGroups } from "./groups.ts";
import { History } from "./history.tsx";
import { Limits } from "./limits.tsx";
import { useMonitor } from "./monitor.ts";
import { Orphans } from "./orphans.tsx";
import { SessionCard } from "./session_card.tsx";
import { keyOf, STATUSES } from "./words.ts";

const PAGE = 20;
const MOST = 500;

/** Every coding agent of this machine: who waits for a person, what each uses and leaves behind. */
export function AgentsPage() {
  const { query } = useAddress();
  const agent = query["agent"] ?? null;
  const most = useSignal(PAGE);
  const { snapshot, ended, problem, reread } = useMonitor(agent, most.value);
  const scope = useScope();
  if (snapshot === null) {
    return (
      <main class="scroll page-scroll">
        <div class="page-head">
          <h1>Agents</h1>
        </div>
        {problem === null
          ? <Skeleton lines={8} />
          : <Failed title="The agents could not be loaded" problem={problem} />}
      </main>
    );
  }
  const { sessions, rate_limits, orphan_ports, shows_texts } = snapshot;
  const names = Object.fromEntries(rate_limits.map((one) => [one.agent, one.name]));
  return (
    <main class="scroll page-scroll room-empty">
      <Sessions all={sessions} scope={scope} />
      {!shows_texts && sessions.length > 0 && <PrivateRequests />}
      <Orphans
        all={orphan_ports}
        nameOf={(id) => names[id] ?? id}
        onEnded={reread}
      />
      <Limits all={rate_limits} />
      <History
        items={ended}
        names={names}
        filtered={agent !== null}
        onMore={ended !== null && ended.length >= most.value && most.value < MOST
          ? () => most.value = Math.min(MOST, most.value * 5)
          : null}
      />
    </main>
  );
}

const SHOW_TEXTS = '"agentMonitor": { "showTexts": true }';

/** Says why no card shows what its agent was asked to do. */
function PrivateRequests() {
  return (
    <p class="quiet">
      First requests are hidden, because they may be private. To show them, put{" "}
      <code>{SHOW_TEXTS}</code> into <code>config.json</code> in gate’s home.
    </p>
  );
}

/** Which sessions the page shows; null: those of every folder. */
type Scope = { ids: ReadonlySet<string> | null; canChoose: boolean; word: string };

function useScope(): Scope {
  const { query } = useAddress();
  const project = useProject();
  const workspace = useWorkspace();
  const ids = useProjects().map(({ id }) => id);
  const word = project === null && workspace !== null ? "workspace" : "project";
  const own = project !== null ? [project] : workspace !== null ? ids : null;
  const all = own === null || query["scope"] === "all";
  return { ids: all ? null : new Set(own), canChoose: own !== null, word };
}

function isIn({ project_id }: AgentSession, { ids }: Scope): boolean {
  return ids === null || (project_id !== null && ids.has(project_id));
}

function Sessions({ all, scope }: { all: AgentSession[]; scope: Scope }) {
  const address = useAddress();
  const list = useRef<HTMLDivElement>(null);
  const shown = all.filter((session) => isIn(session, scope));
  const groups = useGroups(shown, list);
  const others = all.length - shown.length;
  const show = (value: string) => address.set({ scope: value === "all" ? "all" : null });
  useAnnounced(shown);
  const step = (by: number) => stepBy(list.current, by);
  useKeys([
    ...bind(
      "Move",
      ["j", "Select the next agent", () => step(1)],
      [
        "k",
        "Select the previous agent",
        () => step(-1),
      ],
      ["o", "Review the held action", () => openHeld(list.current)],
      [
        "enter",
        "Review the held action",
        () => openHeld(list.current),
      ],
    ),
    ...scope.canChoose
      ? bind("Show", [
        "s",
        `Switch between this ${scope.word} and all projects`,
        () => show(scope.ids === null ? "this" : "all"),
      ])
      : [],
  ]);
  return (
    <>
      <div class="page-head agents-head">
        <h1>Agents</h1>
        <p class="quiet agents-sum">{sumOf(shown)}</p>
        {scope.canChoose && (
          <Segmented
            label="Projects"
            value={scope.ids === null ? "all" : "this"}
            options={[
              { value: "this", label: `This ${scope.word}` },
              { value: "all", label: "All projects" },
            ]}
            onChange={show}
          />
        )}
      </div>
      <div ref={list} class="agents-groups">
        {groups.map((group) => <ProjectGroup key={group.id ?? ""} group={group} />)}
      </div>
      {shown.length === 0 && (
        <NoAgent
          others={others}
          word={scope.ids === null ? null : scope.word}
          onAll={() => show("all")}
        />
      )}
      {shown.length > 0 && others > 0 && (
        <p class="quiet">
          {count(others, "more agent")} outside of this {scope.word}.{" "}
          <button type="button" class="link" onClick={() => show("all")}>Show all projects</button>
        </p>
      )}
    </>
  );
}

function ProjectGroup({ group: { id, sessions } }: { group: Group }) {
  const name = useProjects().find((project) => project.id === id)?.name ?? id;
  return (
    <section class="agents-group" aria-label={name ?? "No project"}>
      <h2>{name === null ? "No project" : <Text value={name} />}</h2>
      <div class="agents-cards">
        {sessions.map((session) => <SessionCard key={keyOf(session)} session={session} />)}
      </div>
    </section>
  );
}

interface NoAgentProps {
  others: number;
  word: string | null;
  onAll: () => void;
}

function NoAgent({ others, word, onAll }: NoAgentProps) {
  const where = word === null ? "" : ` in this ${word}`;
  return (
    <Empty icon="terminal" title={`No coding agent runs${where}`}>
      <p>
        When you start one in a terminal, its card appears here: what it does, what it has used, and
        whether it waits for you.
      </p>
      {others > 0 && (
        <p>
          {count(others, "agent")} {others === 1 ? "runs" : "run"} elsewhere.{" "}
          <button type="button" class="link" onClick={onAll}>Show all projects</button>
        </p>
      )}
    </Empty>
  );
}

/** "1 waits for your approval · 2 work". */
function sumOf(sessions: AgentSession[]): string {
  const parts = Object.entries(STATUSES).flatMap(([status, { one, many }]) => {
    const n = sessions.filter((session) => session.status === status).length;
    return n === 0 ? [] : [`${number(n)} ${n === 1 ? one : many}`];
  });
  return parts.join(" · ");
}

// Tells a screen reader which agents began to wait.
function useAnnounced(sessions: AgentSession[]): void {
  const waiting = sessions.filter(({ status }) => status.startsWith("waiting"));
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    const fresh = waiting.filter((session) => known.current?.has(keyOf(session)) === false);
    known.current = new Set(waiting.map(keyOf));
    if (fresh.length > 0) {
      speak(fresh.map(({ name, status }) => `${name} ${STATUSES[status].word}`).join(", "));
    }
  }, [waiting.map(keyOf).join()]);
}

function stepBy(list: HTMLElement | null, by: number): void {
  const cards = [...list?.querySelectorAll<HTMLElement>(".agent") ?? []];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  cards[at < 0 ? 0 : Math.max(0, Math.min(cards.length - 1, at + by))]?.focus();
}

// Without a selected card, the first one that waits.
function openHeld(list: HTMLElement | null): void {
  const card = document.activeElement?.closest(".agent") ?? list;
  card?.querySelector<HTMLElement>(".agent-held a")?.click();
}

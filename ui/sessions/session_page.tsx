import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import type { ListedSession } from "../../server/sessions/schema.ts";
import { stepFile } from "../diff/files.tsx";
import { ExecutionBadge, StatusBadge, ToolIcon } from "../parts/badges.tsx";
import { Icon } from "../parts/icon.tsx";
import { Failed, Skeleton } from "../parts/placeholder.tsx";
import { SentenceLine } from "../parts/sentence.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { explain } from "../state/client.ts";
import { bind, useKeys } from "../state/keys.ts";
import { daemon, useLive } from "../state/live.ts";
import { findFirstRequest } from "../state/first_request.ts";
import { nameOfProject } from "../state/project.ts";
import { SessionRollbackPreview } from "./rollback_preview.tsx";
import { createSessionRollback, loadSession, type SessionRecord, stateOf } from "./session.ts";
import { SessionBar } from "./session_bar.tsx";
import { SessionFiles } from "./session_files.tsx";
import { Strip } from "./strip.tsx";
import { SessionTitle } from "./title.tsx";

/** One session: its actions, the changed files, and the rollback. */
export function SessionPage() {
  const address = useAddress();
  const id = address.path.split("/")[2] ?? "";
  const { record, problem, reload } = useSession(id);
  useKeys(bind("Move", ["b", "Go back to the list", () => address.go("/sessions", { at: id })]));
  return (
    <main class="record">
      <h1 class="visually-hidden">Session</h1>
      <a class="back" href={address.href("/sessions", { at: id })}>
        <Icon name="back" />
        Sessions
      </a>
      {record
        ? <SessionView key={id} record={record} onDone={reload} />
        : problem === null
        ? <Skeleton lines={12} />
        : <Failed title="This session cannot be shown" problem={problem} />}
    </main>
  );
}

function useSession(id: string) {
  const record = useSignal<SessionRecord | null>(null);
  const problem = useSignal<{ of: string; text: string } | null>(null);
  const turn = useSignal(0);
  useLive(
    `${id} ${daemon.value !== null} ${turn.value}`,
    async (late) => {
      if (daemon.value === null) return;
      try {
        const loaded = await loadSession(id);
        if (!late.aborted) [record.value, problem.value] = [loaded, null];
      } catch (error) {
        if (!late.aborted) problem.value = { of: id, text: explain(error) };
      }
    },
    ({ topic, project_id }) =>
      /^(?:actions|approvals|sessions)$/.test(topic) &&
      project_id === (record.peek()?.session.project_id ?? project_id),
  );
  const shown = record.value?.session.id === id ? record.value : null;
  const told = problem.value?.of === id ? problem.value.text : null;
  return { record: shown, problem: told, reload: () => turn.value += 1 };
}

function SessionView({ record, onDone }: { record: SessionRecord; onDone: () => void }) {
  const address = useAddress();
  const rollback = useMemo(createSessionRollback, []);
  const files = useRef<HTMLDivElement>(null);
  const { actions, diff } = record;
  const asked = address.query["action"] ?? null;
  const chosen = actions.some(({ id }) => id === asked) ? asked : null;
  useSteps(record, chosen, { files, leave: () => rollback.close() });
  const own = diff.actions.find(({ action_id }) => action_id === chosen);
  return (
    <>
      <Head session={record.session} />
      {record.session.block_reason !== null && <Blocked record={record} />}
      <div class="session-scroll">
        <SessionSteps record={record} chosen={chosen} />
        <div
          class="session-files"
          ref={files}
          tabIndex={0}
          role="region"
          aria-label="Changed files"
        >
          {rollback.open.value && <SessionRollbackPreview rollback={rollback} />}
          <SessionFiles
            key={chosen}
            session={record.session}
            files={chosen === null ? diff.files : own?.files ?? []}
            isWhole={chosen === null}
          />
        </div>
      </div>
      <SessionBar record={record} rollback={rollback} chosen={chosen} onDone={onDone} />
    </>
  );
}

/** The block of a session or of its agent, and how a reviewer lifts it. */
function Blocked({ record: { session, block } }: { record: SessionRecord }) {
  const address = useAddress();
  const agent = block?.agent ?? null;
  return (
    <div class="notice tone-danger session-blocked" role="alert">
      <Icon name="ban" />
      <div>
        <p>
          <strong>
            {agent === null ? "gate has blocked this session: it may do nothing more." : (
              <>
                gate has blocked the agent <Text value={agent} />: no session of it may do more.
              </>
            )}
          </strong>
        </p>
        <Text as="p" value={`${session.block_reason}.`} />
        <p class="quiet">
          <a href={address.href("/remediation", { session: session.id })}>
            Look at what it did and lift the block
          </a>, or run{" "}
          <code>
            gate session unblock <Text value={agent ?? session.id} />
          </code>
          {block?.expires_at && (
            <>
              . It ends by itself at{" "}
              <time dateTime={block.expires_at}>{timeOf(block.expires_at)}</time>
            </>
          )}
        </p>
      </div>
    </div>
  );
}

function timeOf(at: string): string {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

interface StepOptions {
  files: RefObject<HTMLDivElement | null>;
  leave: () => void;
}

/** The shortcuts that move between actions and between files. */
function useSteps(
  { actions }: SessionRecord,
  chosen: string | null,
  { files, leave }: StepOptions,
): void {
  const address = useAddress();
  const step = (by: number) => {
    const ids = [null, ...actions.map(({ id }) => id)];
    const next = ids[Math.max(0, Math.min(ids.length - 1, ids.indexOf(chosen) + by))] ?? null;
    leave();
    address.set({ action: next });
  };
  useKeys(bind(
    "Move",
    ["j", "Select the next action", () => step(1)],
    ["k", "Select the previous action", () => step(-1)],
    ["arrowdown", "Select the next action", () => step(1)],
    ["arrowup", "Select the previous action", () => step(-1)],
    ["]", "Go to the next file", () => stepFile(files.current, 1)],
    ["[", "Go to the previous file", () => stepFile(files.current, -1)],
  ));
}

function Head({ session }: { session: ListedSession }) {
  const { agent, client, project_id, started_at, pending_count, id } = session;
  const address = useAddress();
  const request = useSignal<string | null>(null);
  useEffect(() => {
    // Without it the page says what it says otherwise.
    findFirstRequest(session.id).then((found) => request.value = found, () => {});
  }, [id]);
  return (
    <header class="session-head">
      <h2 class="headline">
        <Icon name="layers" class="tool-icon" />
        <SessionTitle session={session} request={request.value} />
      </h2>
      <p class="dotted meta">
        <Text as="span" value={agent} />
        <Text as="span" value={nameOfProject(project_id)} />
        {client !== "none" && <Text as="span" value={client} />}
        <span>
          started <Ago at={started_at} said />
        </span>
        <span>{stateOf(session)}</span>
        {request.value !== null && <span>titled by its first request, in the agent’s record</span>}
        {pending_count > 0 && <span>{count(pending_count, "action")} held</span>}
        <a href={address.href("/actions", { session_id: id })}>
          show as table
        </a>
      </p>
      <Strip outcomes={session.outcomes} />
    </header>
  );
}

interface StepsProps {
  record: SessionRecord;
  /** The chosen action; null means the whole session. */
  chosen: string | null;
}

/** The actions of a session, oldest first. */
function SessionSteps({ record: { actions, isCut, session }, chosen }: StepsProps) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <section class="steps" aria-label="Actions of the session">
      <h2 class="visually-hidden">Actions of the session</h2>
      <ol ref={list}>
        <li>
          <Step id={null} chosen={chosen}>
            <span class="sentence-verb">The whole session</span>
            <span class="quiet small">{count(session.action_count, "action")}</span>
          </Step>
        </li>
        {isCut && (
          <li class="quiet small steps-note">The newest {count(actions.length, "action")}:</li>
        )}
        {actions.map((action) => (
          <li key={action.id}>
            <ActionStep action={action} chosen={chosen} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function ActionStep({ action, chosen }: { action: Action; chosen: string | null }) {
  return (
    <Step id={action.id} chosen={chosen}>
      <ToolIcon action={action} />
      <span class="list-row-words">
        <SentenceLine action={action} />
        <span class="quiet small step-meta">
          <StatusBadge action={action} />
          {/^(?:failed|unknown|running)$/.test(action.execution) && (
            <ExecutionBadge execution={action.execution} />
          )}
          <Ago at={action.created_at} />
        </span>
      </span>
    </Step>
  );
}

interface StepProps {
  id: string | null;
  chosen: string | null;
  children: preact.ComponentChildren;
}

function Step({ id, chosen, children }: StepProps) {
  const address = useAddress();
  return (
    <button
      type="button"
      class="list-row step"
      aria-current={id === chosen ? "true" : undefined}
      onClick={() => address.set({ action: id })}
    >
      {children}
    </button>
  );
}

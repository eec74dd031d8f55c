import { useRef } from "preact/hooks";
import type { ListedSession } from "../../server/sessions/schema.ts";
import { Button } from "../parts/button.tsx";
import { Empty, Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useKept, useTakeKey } from "../state/kept.ts";
import { daemon } from "../state/live.ts";
import { useProject, useProjects } from "../state/project.ts";
import { useRead } from "../state/read.ts";
import { Blocks } from "./blocks.tsx";
import { Evaluation } from "./evaluation.tsx";
import { loadSituation, MOST_PROJECTS } from "./reading.ts";
import { SessionList } from "./session_list.tsx";

/** What gate has blocked, what each session did, and what a person can do about it. */
export function RemediationPage() {
  const project = useProject();
  const known = useProjects().map(({ id }) => id);
  const ids = project === null ? known.slice(0, MOST_PROJECTS) : [project];
  const key = `${daemon.value !== null} ${ids.join()}`;
  const { value, problem, reread } = useRead(
    key,
    async () => daemon.value === null ? null : { key, ...await loadSituation(ids) },
    ({ topic, project_id }) => topic !== "agents" && ids.includes(project_id),
  );
  const blocks = useKept(value && { key: value.key, items: value.blocks }, { waits: true });
  const sessions = useKept(value && { key: value.key, items: value.sessions });
  useTakeKey(blocks, sessions);
  const body = useRef<HTMLElement>(null);
  const chosen = useChosen(sessions?.rows.map(({ item }) => item) ?? []);
  return (
    <main class="scroll page-scroll room" ref={body}>
      <div class="page-head">
        <h1>Remediation</h1>
        {project === null && known.length > MOST_PROJECTS && (
          <p class="quiet">
            Of the first {MOST_PROJECTS} projects. Choose a project to see all of its own.
          </p>
        )}
      </div>
      {problem !== null && value !== null && (
        <p class="notice tone-warn" role="status">
          <Text as="span" value={`What you see is not fresh. ${problem}`} />
        </p>
      )}
      {value === null || blocks === null || sessions === null
        ? problem === null
          ? <Skeleton lines={10} />
          : <Failed title="Blocks and sessions could not be read" problem={problem} />
        : (
          <>
            <Blocks
              blocks={blocks}
              sessions={value.sessions}
              limits={value.limits}
              several={ids.length > 1}
              onChange={reread}
            />
            <section class="room-part" aria-labelledby="remediation-sessions">
              <div class="room-buttons">
                <h2 id="remediation-sessions">Sessions</h2>
                <span role="status">
                  {sessions.waiting > 0 && (
                    <Button kind="quiet" keys="." onClick={sessions.take}>
                      Show {count(sessions.waiting, "new session")}
                    </Button>
                  )}
                </span>
              </div>
              {sessions.rows.length === 0 ? <NoSession /> : (
                <div class="remediation-split">
                  <SessionList
                    sessions={sessions}
                    chosen={chosen?.id ?? null}
                    several={ids.length > 1}
                  />
                  {chosen && <Evaluation key={chosen.id} session={chosen} onChange={reread} />}
                </div>
              )}
            </section>
          </>
        )}
    </main>
  );
}

/** The session that the address names, else a blocked one, else the newest; j and k choose another. */
function useChosen(sessions: ListedSession[]): ListedSession | null {
  const address = useAddress();
  const asked = address.query["session"];
  const chosen = sessions.find(({ id }) => id === asked) ??
    sessions.find(({ block_reason }) => block_reason !== null) ?? sessions[0] ?? null;
  const step = (by: number) => {
    const at = sessions.findIndex(({ id }) => id === chosen?.id);
    const next = sessions[at + by];
    if (next) address.set({ session: next.id });
  };
  const open = () => chosen && address.go(`/sessions/${chosen.id}`);
  useKeys(bind(
    "Move",
    ["j", "Select the next session", () => step(1)],
    ["k", "Select the previous session", () => step(-1)],
    ["o", "Open the session", open],
  ));
  return chosen;
}

function NoSession() {
  return (
    <Empty icon="layers" title="No agent has connected yet">
      <p>
        Each session of an agent appears here, with what it did against the rules and the ways to
        mend it.
      </p>
      <p class="quiet">
        <code>gate global-setup</code> connects your agents.
      </p>
    </Empty>
  );
}

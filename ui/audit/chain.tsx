import { useEffect } from "preact/hooks";
import type { AuditState } from "../../server/audit/schema.ts";
import { Button } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { count, number, shortHash } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useProjects } from "../state/project.ts";
import { useBusy, useRead } from "../state/read.ts";

/** How often a running check tells its progress. */
const LOOK_MS = 250;

/** The chain of one project: whether it is whole, its head, and the key that signs it. */
export function Chain({ project }: { project: string }) {
  const { value, problem, reread, verify, busy } = useChain(project);
  useKeys(bind("Show", ["v", "Verify the audit chain", verify]));
  if (value === null) {
    return problem === null
      ? <Skeleton lines={5} />
      : <Failed title="The audit chain could not be read" problem={problem} />;
  }
  return (
    <section class="panel audit-chain" aria-label="Chain">
      <Verdict state={value} />
      {value.events > 0 && value.check === null && <p class="quiet">{HOW}</p>}
      <div class="room-buttons">
        <Button kind="primary" icon="check" keys="v" busy={busy} onClick={verify}>
          Verify now
        </Button>
        <Button icon="key" onClick={() => void sign(project, reread)}>Sign the head</Button>
      </div>
      <Facts state={value} />
    </section>
  );
}

function useChain(project: string) {
  const read = useRead(
    project,
    () => unwrap(api(project).api.audit.state.$get()),
    ({ project_id }) => project_id === project,
  );
  const { busy, run } = useBusy();
  const isRunning = busy.value || read.value?.check?.finished_at === null;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(read.reread, LOOK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const verify = () =>
    void run(async () => {
      try {
        await unwrap(api(project).api.audit.verify.$get());
      } catch (error) {
        announce({ text: explain(error), tone: "danger" }, null);
      }
      read.reread();
    });
  return { ...read, verify, busy: isRunning };
}

/** Signs the newest event; the daemon keeps each signed head. */
async function sign(project: string, done: () => void): Promise<void> {
  try {
    const { seq } = await unwrap(api(project).api.audit.checkpoint.$get());
    announce({ text: `Event ${number(seq)} is signed`, tone: "ok" }, null);
  } catch (error) {
    announce({ text: explain(error), tone: "danger" }, null);
  }
  done();
}

interface Judged {
  icon: IconName;
  tone: string;
  title: string;
}

function judge({ check, events }: AuditState): Judged {
  if (events === 0) return { icon: "dot", tone: "quiet", title: "The log is empty" };
  if (check === null) return { icon: "help", tone: "quiet", title: "Not checked yet" };
  if (check.finished_at === null) return { icon: "clock", tone: "info", title: "Checking" };
  if (check.result === null) {
    return { icon: "alert", tone: "warn", title: "The check did not finish" };
  }
  if (check.result.ok) return { icon: "allowed", tone: "ok", title: "Whole" };
  return { icon: "octagon", tone: "danger", title: "Changed or damaged" };
}

const HOW =
  "A check recomputes the hash of each event, and compares the chain with its signed heads.";

/** The result of the newest check in words, with its progress while it runs. */
function Verdict({ state }: { state: AuditState }) {
  const { icon, tone, title } = judge(state);
  return (
    <div class="audit-verdict" role="status">
      <p class={`audit-title badge tone-${tone}`}>
        <Icon name={icon} />
        {title}
      </p>
      <Explained state={state} />
    </div>
  );
}

function Explained({ state: { check, events } }: { state: AuditState }) {
  if (events === 0) {
    return <p class="quiet">The first action of an agent writes the first event.</p>;
  }
  if (check === null) return <p class="quiet">{count(events, "event")}</p>;
  if (check.finished_at === null) {
    return (
      <p class="audit-progress">
        <progress max={Math.max(1, check.of)} value={check.checked} aria-label="Events checked" />
        <span class="quiet">{number(check.checked)} of {count(check.of, "event")}</span>
      </p>
    );
  }
  if (check.result === null) return <p class="quiet">The log may be unreadable. Verify again.</p>;
  const { ok, problem, checkpoints } = check.result;
  const since = events - check.result.events;
  if (!ok) {
    return (
      <>
        <p class="audit-problem">
          {problem?.seq != null && <>Event {number(problem.seq)}:{" "}</>}
          <Text value={problem?.what ?? "the daemon gave no reason"} />
        </p>
        <p class="quiet">
          Export a bundle before you change anything, and compare it with a signed head from
          elsewhere.
        </p>
      </>
    );
  }
  return (
    <p class="quiet">
      {count(check.result.events, "event")}{" "}
      {checkpoints > 0 && `and ${count(checkpoints, "signed head")} `}agree, checked{" "}
      <Ago at={check.finished_at} said />
      {since > 0 && `; ${count(since, "event")} since then`}.
    </p>
  );
}

function Facts(
  { state: { events, newest_at, hash, checkpoint, public_key } }: { state: AuditState },
) {
  return (
    <dl class="room-facts">
      <dt>Events</dt>
      <dd>
        {number(events)}
        {newest_at && (
          <span class="quiet">
            , the newest <Ago at={newest_at} said />
          </span>
        )}
      </dd>
      {events > 0 && (
        <>
          <dt>Newest hash</dt>
          <dd class="code-text">{hash}</dd>
        </>
      )}
      <dt>Signed head</dt>
      <dd>
        {checkpoint === null ? <span class="quiet">none yet</span> : (
          <>
            Event {number(checkpoint.seq)}{" "}
            <span class="quiet">
              with hash <code>{shortHash(checkpoint.hash)}</code>, signed{" "}
              <Ago at={checkpoint.at} said />
            </span>
          </>
        )}
      </dd>
      <dt>Key</dt>
      <dd>
        <span class="code-text">{public_key}</span>
        <p class="quiet small">
          Keep this key outside this machine: a bundle that it signed was not forged later.
        </p>
      </dd>
    </dl>
  );
}

/** The chains of all projects, one row each. */
export function AllChains() {
  const projects = useProjects();
  if (projects.length === 0) {
    return (
      <p class="quiet">
        No project is registered yet: run <code>gate init</code> in its folder.
      </p>
    );
  }
  return (
    <div class="room-list">
      <p class="quiet">{HOW}</p>
      <ul class="room-list" aria-label="Chains">
        {projects.map(({ id, name }) => <ChainRow key={id} project={id} name={name} />)}
      </ul>
    </div>
  );
}

function ChainRow({ project, name }: { project: string; name: string }) {
  const address = useAddress();
  const { value, problem, verify, busy } = useChain(project);
  return (
    <li class="room-row" aria-label={name}>
      <div class="room-row-what">
        <h2>
          <a href={address.href("/audit", { project, scope: null })}>
            <Text value={name} />
          </a>
        </h2>
        {problem !== null && <Text as="p" class="tone-danger" value={problem} />}
        {value && <Verdict state={value} />}
      </div>
      <Button busy={busy} onClick={verify}>
        Verify <Text value={name} />
      </Button>
    </li>
  );
}

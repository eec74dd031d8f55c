import { useSignal } from "@preact/signals";
import { describeSandbox, describeWall } from "../../server/actions/show/sandbox_text.ts";
import type { SandboxView, SessionOpening } from "../../server/sandbox/schema.ts";
import { Button } from "../parts/button.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useLive } from "../state/live.ts";
import { useProject } from "../state/project.ts";

/** The sandbox that commands of a project run in, and the walls that people opened. */
export function SandboxSettings() {
  const project = useProject();
  return (
    <section class="settings" aria-labelledby="settings-sandbox">
      <h2 id="settings-sandbox">Sandbox</h2>
      {project === null
        ? <p class="quiet">Choose a project to see its sandbox.</p>
        : <SandboxOf key={project} project={project} />}
    </section>
  );
}

const CHANGES = /^(policy\.changed|wall\.opened|wall\.closed)$/;

function SandboxOf({ project }: { project: string }) {
  const view = useSignal<SandboxView | null>(null);
  const failed = useSignal(false);
  const read = async (late?: AbortSignal) => {
    const found = await unwrap(api(project).api.sandbox.$get()).catch(() => null);
    if (late?.aborted) return;
    failed.value = found === null;
    view.value = found ?? view.value;
  };
  useLive(`sandbox of ${project}`, read, ({ type }) => CHANGES.test(type));
  if (failed.value) return <p class="quiet">The sandbox cannot be read; reload the page.</p>;
  if (view.value === null) return <Skeleton lines={4} />;
  return (
    <>
      <Facts view={view.value} />
      <h3>Open walls</h3>
      {view.value.openings.length === 0 && (
        <p class="quiet">Nobody has opened a wall for a session that still runs.</p>
      )}
      {view.value.openings.map((one) => (
        <Opened
          key={one.id}
          opening={one}
          project={project}
          onClosed={() => void read()}
        />
      ))}
    </>
  );
}

const MODES = {
  off: "off: the rules ask about every command that its text does not prove",
  auto: "auto: a command that the sandbox contains runs there without a question",
  always: "always: every command runs in the sandbox",
  review: "review: every command runs there on a copy, and a person approves its changes",
} as const satisfies Record<SandboxView["mode"], string>;

const NETWORKS = {
  none: "none",
  loopback: "only servers of the same command",
  all: "everything",
} as const;

function Facts({ view: { engine, mode, answers, sandbox } }: { view: SandboxView }) {
  return (
    <dl class="settings-facts">
      <dt>Engine</dt>
      <dd>
        {engine ? <Text value={`${engine.name} ${engine.version}`} /> : (
          <>
            none: commands run without a sandbox. <code>gate doctor</code> says why.
          </>
        )}
      </dd>
      <dt>Mode</dt>
      <dd>
        {MODES[mode]}
        {!answers && mode !== "off" && "; the rules still ask"}
      </dd>
      {sandbox && (
        <>
          <dt>Commands get</dt>
          <dd>
            <Text value={describeSandbox(sandbox)} />
          </dd>
          <dt>Network</dt>
          <dd>{NETWORKS[sandbox.network]}</dd>
          <Entries name="Hosts" entries={sandbox.hosts ?? []} />
          <Entries name="They write" entries={sandbox.writable} />
        </>
      )}
    </dl>
  );
}

function Entries({ name, entries }: { name: string; entries: readonly string[] }) {
  if (entries.length === 0) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <p class="settings-patterns">
          {entries.map((entry) => <Code key={entry} value={entry} />)}
        </p>
      </dd>
    </>
  );
}

interface OpenedProps {
  opening: SessionOpening;
  project: string;
  onClosed: () => void;
}

function Opened({ opening, project, onClosed }: OpenedProps) {
  const address = useAddress();
  const busy = useSignal(false);
  const { id, walls, opened_at, opened_by, session_id } = opening;
  const close = async () => {
    busy.value = true;
    try {
      await unwrap(api(project).api.sandbox.openings[":id"].$delete({ param: { id } }));
      announce({ text: "The wall is closed", tone: "ok" }, null);
    } catch (error) {
      announce({ text: explain(error), tone: "danger" }, null);
    } finally {
      busy.value = false;
      onClosed();
    }
  };
  return (
    <div class="grant">
      <div class="grant-what">
        <Text value={walls.map(describeWall).join(", ")} />
        <p class="dotted meta">
          <Text as="span" value={opened_by} />
          <span>
            opened <Ago at={opened_at} said />
          </span>
          <a href={address.href(`/sessions/${session_id}`)}>session</a>
        </p>
      </div>
      <Button kind="danger" busy={busy.value} onClick={() => void close()}>Close</Button>
    </div>
  );
}

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { OrphanPort, Terminated } from "../../server/agent_monitor/schema.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { bytesOf, count } from "../parts/words.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { Long } from "./parts.tsx";
import { FINDS } from "./words.ts";

interface OrphansProps {
  all: OrphanPort[];
  nameOf: (agent: string) => string;
  onEnded: () => void;
}

/** The processes that still listen although their session has ended. */
export function Orphans({ all, nameOf, onEnded }: OrphansProps) {
  const asked = useSignal<OrphanPort | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const close = () => asked.value = null;
  const isEnded = useRef(false);
  const ended = () => {
    isEnded.current = true;
    close();
    onEnded();
  };
  // The row goes, and with it the button that the dialog gave the keyboard back to.
  useEffect(() => {
    if (asked.value !== null || !isEnded.current) return;
    isEnded.current = false;
    heading.current?.focus();
  }, [asked.value]);
  return (
    <section aria-labelledby="agents-orphans" class="agents-part">
      <h2 id="agents-orphans" tabIndex={-1} ref={heading}>Ports left behind</h2>
      {all.length === 0
        ? (
          <p class="quiet">
            No process listens on a port after its session has ended. Such a process would appear
            here, with a button to end it.
          </p>
        )
        : (
          <ul class="orphans">
            {all.map((orphan) => (
              <Orphan
                key={`${orphan.pid} ${orphan.start_time}`}
                orphan={orphan}
                nameOf={nameOf}
                onAsk={() => asked.value = orphan}
              />
            ))}
          </ul>
        )}
      {asked.value && <Ask orphan={asked.value} nameOf={nameOf} onClose={close} onEnded={ended} />}
    </section>
  );
}

interface OrphanProps extends Pick<OrphansProps, "nameOf"> {
  orphan: OrphanPort;
}

function Orphan({ orphan, nameOf, onAsk }: OrphanProps & { onAsk: () => void }) {
  const { pid, command, memory_bytes } = orphan;
  return (
    <li>
      <div class="orphan-what">
        <p>
          <strong>{portsOf(orphan)}</strong> <Code value={command} />
        </p>
        <p class="dotted quiet">
          <span>process {pid}</span>
          {memory_bytes !== null && <span>{bytesOf(memory_bytes)} of memory</span>}
          <LeftBy orphan={orphan} nameOf={nameOf} />
          <span>
            first seen <Ago at={orphan.first_seen_at} said />
          </span>
          <span>{FINDS[orphan.found_by]}</span>
        </p>
      </div>
      <Button kind="danger" icon="x" onClick={onAsk}>Terminate process {pid}</Button>
    </li>
  );
}

function LeftBy({ orphan: { agent, session_id, project_id }, nameOf }: OrphanProps) {
  return (
    <span>
      left by <Text value={nameOf(agent)} />, session <Long value={session_id} />
      {project_id !== null && (
        <>
          , project <Text value={project_id} />
        </>
      )}
    </span>
  );
}

function portsOf({ ports }: OrphanPort): string {
  const numbers = [...new Set(ports.map(({ port }) => port))];
  return `${numbers.length === 1 ? "Port" : "Ports"} ${numbers.join(", ")}`;
}

interface AskProps extends OrphanProps {
  onClose: () => void;
  onEnded: () => void;
}

/** Asks before a process is ended, and names it. */
function Ask({ orphan, nameOf, onClose, onEnded }: AskProps) {
  const { pid, start_time, command } = orphan;
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const run = async () => {
    if (busy.peek()) return;
    busy.value = true;
    try {
      const { ports } = api().api["agent-monitor"];
      const request = { param: { pid: String(pid) }, json: { start_time } };
      const answer = await unwrap(ports[":pid"].$delete(request));
      announce(saidOf(answer), null);
      onEnded();
    } catch (error) {
      problem.value = explain(error);
      busy.value = false;
    }
  };
  return (
    <Dialog title={`Terminate process ${pid}?`} onClose={onClose}>
      <div class="orphan-ask">
        <p>
          <Code value={command} />
        </p>
        <p>
          It listens on {portsOf(orphan).toLowerCase()}; <LeftBy orphan={orphan} nameOf={nameOf} />.
        </p>
        <p class="quiet">
          gate asks the process to end, and kills it after 5 s. Only this process is signalled, and
          only if it is still the same.
        </p>
        {problem.value !== null && (
          <p class="notice tone-danger" role="alert">
            <Icon name="alert" />
            <Text as="span" value={problem.value} />
          </p>
        )}
        <div class="orphan-buttons">
          <Button kind="quiet" onClick={onClose}>Keep it</Button>
          <Button kind="danger" icon="x" busy={busy.value} onClick={() => void run()}>
            {busy.value ? `Terminating process ${pid}…` : `Terminate process ${pid}`}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

const OUTCOMES: Record<Terminated["outcome"], string> = {
  terminated: "has ended",
  killed: "did not end by itself and was killed",
  already_exited: "had ended already",
  still_running: "is still running, although gate tried to kill it",
};

function saidOf({ pid, outcome, still_listening_pids: others }: Terminated) {
  const rest = others.length === 0
    ? ""
    : `; on the same ports ${count(others.length, "other process")} still listen`;
  const tone = outcome === "still_running" ? "danger" as const : "ok" as const;
  return { text: `Process ${pid} ${OUTCOMES[outcome]}${rest}`, tone };
}

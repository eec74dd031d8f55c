import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AgentSnapshot, EndedSession } from "../../server/agent_monitor/schema.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { follow } from "../state/events.ts";
import { useLive } from "../state/live.ts";

/** The page's knowledge of the machine. A read that fails leaves the last state. */
export interface Monitor {
  snapshot: AgentSnapshot | null;
  ended: EndedSession[] | null;
  problem: string | null;
  reread: () => void;
}

/** Memory and limits change without an event. */
const LOOK_MS = 10_000;

/** The agents of this machine and their ended sessions; the daemon looks while the page is seen. */
export function useMonitor(agent: string | null, most: number): Monitor {
  const snapshot = useSignal<AgentSnapshot | null>(null);
  const ended = useSignal<EndedSession[] | null>(null);
  const problem = useSignal<string | null>(null);
  const turn = useSignal(0);
  const reread = () => void (turn.value = turn.peek() + 1);
  useFollowing(reread);
  useLive(`${turn.value} ${most} ${agent}`, async (late) => {
    const query = { limit: String(most), ...agent === null ? {} : { agent } };
    try {
      const monitor = api().api["agent-monitor"];
      const [now, { items }] = await Promise.all([
        unwrap(monitor.snapshot.$get()),
        unwrap(monitor.history.$get({ query })),
      ]);
      const before = snapshot.peek();
      // An answer to an earlier request may arrive later.
      if (late.aborted || (before !== null && before.generated_at > now.generated_at)) return;
      snapshot.value = now;
      ended.value = items;
      problem.value = null;
    } catch (error) {
      if (!late.aborted) problem.value = explain(error);
    }
  }, ({ topic }) => topic === "agents");
  return {
    ...{ snapshot: snapshot.value, ended: ended.value, problem: problem.value },
    reread,
  };
}

// A page that nobody sees does not make the daemon look every two seconds.
function useFollowing(reread: () => void): void {
  useEffect(() => {
    let stop: (() => void) | null = null;
    const look = () => {
      const isSeen = document.visibilityState === "visible";
      if (isSeen && stop === null) stop = follow("agents");
      if (!isSeen) {
        stop?.();
        stop = null;
      } else reread();
    };
    stop = follow("agents");
    const timer = setInterval(() => document.visibilityState === "visible" && reread(), LOOK_MS);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
      stop?.();
    };
  }, []);
}

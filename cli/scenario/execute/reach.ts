import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { LOOK_AT_TARGET, ToolError } from "../errors.ts";
import { openSocket } from "./race/connect.ts";
import type { Target } from "./target.ts";
import { wordsOf } from "./transport_error.ts";

/** The pause between two tries. */
const RETRY_MS = 100;
const CONNECT_MS = 3_000;

/**
 * Resolves once the target takes connections and, over https, shows a trusted certificate. Without
 * this check every request would fail for a reason that has nothing to do with the target's code.
 * @throws ToolError after `wait_ms`
 */
export async function reachTarget(
  target: Target,
  { wait_ms, insecure }: { wait_ms: number; insecure: boolean },
): Promise<void> {
  const deadline = performance.now() + wait_ms;
  while (true) {
    const error = await tryConnect(target) ?? await tryTls(target, insecure);
    if (error === null) return;
    const isDistrust = /certificate|CERT|altname/i.test(error);
    if (isDistrust || performance.now() >= deadline) {
      const wait = wait_ms > 0 ? LOOK_AT_TARGET : "--wait-for-target 30s, if it is still starting";
      throw new ToolError(`Cannot reach ${target.url}: ${error}`, {
        next: isDistrust ? "--insecure, if this certificate is yours" : wait,
      });
    }
    await sleep(RETRY_MS);
  }
}

function tryConnect(target: Target): Promise<string | null> {
  const { hostname: host, port } = target;
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const end = (error: string | null) => {
      socket.destroy();
      resolve(error);
    };
    socket.once("connect", () => end(null));
    socket.once("timeout", () => end("the connection timed out"));
    socket.once("error", (error: NodeJS.ErrnoException) => end(reasonOf(error, target)));
  });
}

function reasonOf(error: NodeJS.ErrnoException, { hostname, port }: Target): string {
  if (error.code === "ECONNREFUSED") return `nothing listens on port ${port} of ${hostname}`;
  if (error.code !== "ENOTFOUND" && error.code !== "EAI_AGAIN") return wordsOf(error);
  return `"${hostname}" is not in /etc/hosts and no DNS server knows it (${error.code}); use an IP address`;
}

async function tryTls(target: Target, insecure: boolean): Promise<string | null> {
  if (!target.secure) return null;
  const protocols = ["http/1.1", "h2"];
  const opened = await openSocket(target, { timeout_ms: CONNECT_MS, insecure, protocols });
  if (!(opened instanceof Error)) {
    opened.socket.destroy();
    return null;
  }
  const why = opened.cause instanceof Error ? opened.cause.message : opened.message;
  return `TLS failed: ${why}`;
}

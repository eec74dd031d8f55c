import { connect } from "node:net";
import { ToolError } from "../errors.ts";
import type { Target } from "./target.ts";

/** Between two tries to reach a target that is still starting. */
const RETRY_MS = 100;
const CONNECT_MS = 3_000;

/** Resolves once the target takes connections. @throws ToolError after `wait_ms` without one */
export async function reachTarget(target: Target, wait_ms: number): Promise<void> {
  const deadline = performance.now() + wait_ms;
  while (true) {
    const error = await tryConnect(target);
    if (error === null) return;
    if (performance.now() >= deadline) {
      throw new ToolError(`Cannot reach ${target.url}: ${error}`, {
        next: wait_ms > 0 ? undefined : "--wait-for-target 30s, if it is still starting",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function tryConnect({ hostname: host, port }: Target): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const end = (error: string | null) => {
      socket.destroy();
      resolve(error);
    };
    socket.once("connect", () => end(null));
    socket.once("timeout", () => end("the connection timed out"));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}

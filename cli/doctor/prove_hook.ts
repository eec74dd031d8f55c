import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import type { InstalledHook } from "./hooks.ts";
import type { Findings } from "./findings.ts";

const TIMEOUT_MS = 60_000;
const PAUSE_MS = 100;

/** Sends a hook a command that nobody runs, as its host would, and looks for it in the ledger. */
export async function proveHook(
  io: Io,
  { host, line }: InstalledHook,
  { root, found }: { root: string; found: Findings },
): Promise<void> {
  const again = `gate global-setup --enforce --host ${host.id}`;
  const id = `gate-doctor-${randomUUID().slice(0, 8)}`;
  const inputs = host.hooks.canary({ id, cwd: root, command: `true ${id}` });
  try {
    const ended = runHook(io, line, inputs.before);
    const action = await awaitCanary(io, { agent: host.id, id, ended });
    const { code, stderr } = await ended;
    if (action === null) {
      const why = stderr.trim().split("\n")[0] || `it ended with ${code}`;
      return found.fail(`${host.name}'s hook left no action in the ledger: ${why}`, again);
    }
    // The host reports the outcome; without the report the action would stay open.
    if (action.status === "approved") await runHook(io, line, inputs.after);
    const how = action.status === "pending" ? "held, and withdrawn" : action.status;
    found.ok(`${host.name}'s hook: seen in the ledger as ${action.id} (${how})`);
  } catch (error) {
    found.fail(`${host.name}'s hook does not work: ${(error as Error).message}`, again);
  }
}

/** How the hook ended. */
interface HookEnd {
  code: number | null;
  stderr: string;
}

/** Runs the hook's command line in a shell, as hosts do. */
function runHook(io: Io, line: string, input: object): Promise<HookEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(line, {
      shell: true,
      env: io.env as NodeJS.ProcessEnv,
      timeout: TIMEOUT_MS,
      stdio: ["pipe", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk) => stderr = (stderr + chunk).slice(0, 4_096));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stderr }));
    // The hook may end without reading its input.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(input));
  });
}

/** Waits for the canary in the ledger. Cancels a held canary, so that the hook gets an answer. */
async function awaitCanary(
  io: Io,
  { agent, id, ended }: { agent: string; id: string; ended: Promise<HookEnd> },
): Promise<Action | null> {
  let hasEnded = false;
  ended.then(() => hasEnded = true, () => hasEnded = true);
  for (;;) {
    const isLast = hasEnded;
    const action = await newestCanary(io, agent, id);
    if (action?.status === "pending") await cancelCanary(io, action);
    if (action !== null || isLast) return action;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function newestCanary(io: Io, agent: string, id: string): Promise<Action | null> {
  const { client } = await openConnection(io, { scope: "viewer" });
  const query = { agent, limit: "20" };
  const { items } = await unwrap(client.api.global.actions.$get({ query }));
  return items.find(({ command }) => command?.includes(id)) ?? null;
}

/** Cancels a held canary, so that nobody has to decide on it. */
export async function cancelCanary(io: Io, { id, project_id }: Action): Promise<void> {
  // An agent's credential would need the secret of the canary's session.
  const connection = await openConnection(io, { scope: "reviewer", start: false });
  const { api } = scopedClient(connection, project_id);
  const json = { reason: "the canary of gate doctor" };
  await unwrap(api.actions[":id"].cancel.$post({ param: { id }, json }));
}

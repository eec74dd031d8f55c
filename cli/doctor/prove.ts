import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
// The SDK's types resolve only for a few of its paths, hence the hints.
// @ts-types="@modelcontextprotocol/sdk/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { unwrap } from "../../server/client.ts";
import { VERSION } from "../../server/constants.ts";
import type { AgentHost } from "../../server/hosts/host.ts";
import { HOSTS } from "../../server/hosts/hosts.ts";
import { openConnection } from "../daemon/connect.ts";
import { isRecord } from "../hosts/edit/text_editor.ts";
import { filesInUse } from "../hosts/hosts.ts";
import { isOurs, wordsOf } from "../hosts/ours.ts";
import type { Io } from "../io.ts";
import { CONFIG_FILE } from "../project.ts";
import { installedHooks } from "./hooks.ts";
import { knownEntry } from "./hosts.ts";
import type { CheckContext } from "./context.ts";
import { Findings } from "./findings.ts";
import { cancelCanary, proveHook } from "./prove_hook.ts";
import type { Finding } from "../../server/doctor/schema.ts";

const PROOF = "prove";
const TIMEOUT_MS = 60_000;

/** An entry in a host's file. */
interface Entry {
  host: AgentHost;
  path: string;
  words: string[];
  env: Record<string, string>;
}

/**
 * Starts each registered entry as its host would and has it read the project's config. The ledger
 * then shows whether the call went through this gate.
 */
export async function prove(
  context: CheckContext,
  say: (line: string) => void,
): Promise<Finding[]> {
  const found = new Findings(PROOF);
  const root = context.roots.find((one) => existsSync(join(one, CONFIG_FILE)));
  const entries = installedEntries(context);
  if (root === undefined) found.fail("no project exists for the test", "gate init");
  else if (entries.length === 0) found.fail("no host has an entry of gate", "gate global-setup");
  else {
    say(`Starts the daemon and each entry as its host would. Each entry reads ${CONFIG_FILE} in`);
    say(`${root}. Each hook is asked about a command that does nothing; gate does not run it.`);
    say("The ledger keeps these actions. Nothing else changes.");
    const { io } = context;
    const proofs = [
      ...entries.map((entry) => (found: Findings) => proveEntry(io, entry, { root, found })),
      ...installedHooks(context).map((hook) => (found: Findings) =>
        proveHook(io, hook, { root, found })
      ),
    ];
    const all = await Promise.all(proofs.map(async (attempt) => {
      const own = new Findings(PROOF);
      await attempt(own);
      return own.list;
    }));
    return all.flat();
  }
  return found.list;
}

/** The entries in the hosts' files. */
function installedEntries({ machine }: CheckContext): Entry[] {
  return HOSTS.flatMap((host) => filesInUse(host, machine).map((path) => ({ host, path })))
    .flatMap(({ host, path }): Entry[] => {
      try {
        const entry = knownEntry(host, path);
        if (!isOurs(entry)) return [];
        const env = (entry as Record<string, unknown>)[host.mcp.entry.env_key ?? "env"];
        return [{ host, path, words: wordsOf(entry), env: isRecord(env) ? textsOf(env) : {} }];
      } catch {
        return []; // checkHosts() reports the file
      }
    });
}

async function proveEntry(
  io: Io,
  entry: Entry,
  { root, found }: { root: string; found: Findings },
): Promise<void> {
  const name = `gate-doctor-${randomUUID().slice(0, 8)}`;
  const again = `gate global-setup --host ${entry.host.id}`;
  try {
    const id = await sendCanary(io, entry, { root, name });
    const action = await findInLedger(io, id, name);
    if (action === null) {
      found.fail(`${entry.host.name} works, but another gate answered`, again);
    } else found.ok(`${entry.host.name}: seen in the ledger as ${id} (${action})`);
  } catch (error) {
    found.fail(`${entry.host.name} cannot use gate: ${(error as Error).message}`, again);
  }
}

/** Calls a tool as an agent of that host would. Returns the id of the action. */
async function sendCanary(
  io: Io,
  { words, env }: Entry,
  { root, name }: { root: string; name: string },
): Promise<string> {
  const [command = "", ...args] = words;
  const transport = new StdioClientTransport({
    command,
    args,
    env: { ...textsOf(io.env), ...env },
    cwd: root,
    stderr: "ignore",
  });
  const client = new Client({ name, version: VERSION });
  try {
    await client.connect(transport, { timeout: TIMEOUT_MS });
    const call = { name: "read_file", arguments: { path: CONFIG_FILE, wait_ms: 0 } };
    const answer = await client.callTool(call, undefined, { timeout: TIMEOUT_MS });
    const { action_id } = (answer.structuredContent ?? {}) as { action_id?: unknown };
    if (typeof action_id === "string") return action_id;
    throw new Error(`its answer names no action: ${JSON.stringify(answer.content).slice(0, 200)}`);
  } finally {
    await client.close();
  }
}

/** The status of the canary in this home's ledger; null when it is missing. */
async function findInLedger(io: Io, id: string, agent: string): Promise<string | null> {
  const connection = await openConnection(io, { scope: "viewer", start: false });
  const { items } = await unwrap(
    connection.client.api.global.actions.$get({ query: { agent, limit: "1" } }),
  );
  const action = items.find((item) => item.id === id);
  if (!action) return null;
  if (action.status === "pending") await cancelCanary(io, action);
  // The end of the entry's session cancels what it held.
  return /^(pending|cancelled)$/.test(action.status) ? "held, and withdrawn" : action.status;
}

function textsOf(record: Record<string, unknown>): Record<string, string> {
  const entries = Object.entries(record);
  return Object.fromEntries(
    entries.filter((pair): pair is [string, string] => typeof pair[1] === "string"),
  );
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { createTestGate, type TestGate, type TestGateOptions } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { type SqlServer, startSqlServer } from "../db/sqld.ts";

export interface TwoMachines {
  server: SqlServer;
  /** The machine that moved its ledger to the server, and the one that joined it. */
  first: TestGate;
  second: TestGate;
}

/** Two gates with homes and folders of their own that share one ledger on a real server. */
export async function stageTwoMachines(options: TestGateOptions = {}): Promise<TwoMachines> {
  const server = await startSqlServer(createTempFolder("sqld"));
  const first = await openMachine(server, options);
  expect(await joinServer(first)).toMatchObject({ status: 200, body: { ok: true } });
  const second = await openMachine(server, options);
  expect(await joinServer(second, { shared: true })).toMatchObject({
    status: 200,
    body: { place: "server", ok: true, problem: null, shared_with: [expect.any(String)] },
  });
  for (const gate of [first, second]) gate.project = await gate.daemon.projects.get("test");
  return { server, first, second };
}

let machines = 0;

/** A gate that may use the server. Its ids are its own, as those of a real machine are. */
export async function openMachine(
  server: SqlServer,
  options: TestGateOptions = {},
): Promise<TestGate> {
  const gate = await createTestGate({
    policies: { defaultEffect: "allow", askPaths: [{ pattern: "held/**" }] },
    ...options,
    storage: { url: server.url },
  });
  const { id } = gate.environment;
  const group = (0x8001 + machines++).toString(16);
  gate.environment.id = () => id().replace("-8000-", `-${group}-`);
  return gate;
}

export async function ask(gate: TestGate, method: string, path: string, body?: unknown) {
  const mark = path.includes("?") ? "&" : "?";
  const response = await gate.request(method, `${path}${mark}project=test`, body);
  return { status: response.status, body: await response.json() };
}

export function joinServer(gate: TestGate, { shared = false } = {}) {
  return ask(gate, "PUT", `/api/hub/projects/test/server?shared=${shared}`);
}

export function leaveServer(gate: TestGate, { whole = false } = {}) {
  return ask(gate, "DELETE", `/api/hub/projects/test/server?whole=${whole}`);
}

/** Submits a write as an agent without a session of its own. */
export async function write(gate: TestGate, path: string, content = path) {
  const response = await gate.request("POST", "/api/actions?project=test", {
    tool: "write_file",
    input: { path, content },
  }, "agent");
  return { status: response.status, body: await response.json() };
}

export function contentOf(gate: TestGate, path: string): string | null {
  try {
    return readFileSync(join(gate.root, path), "utf8");
  } catch {
    return null;
  }
}

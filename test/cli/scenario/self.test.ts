import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readToken } from "../../../server/auth/tokens.ts";
import { createSocketFetch } from "../../../server/runtime/socket_fetch.ts";
import { type Gate, startGate } from "../../../server/start.ts";
import { decideByToken } from "../../e2e/world.ts";
import { folder, tool } from "./harness.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

let base: string;
let gate: Gate;
let headers: { agent: string; reviewer: string };

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "gate-self-"));
  const [home, root] = [join(base, "home"), join(base, "project")];
  decideByToken(home);
  mkdirSync(root);
  const policies = { defaultEffect: "allow", askPaths: ["held/**"], blockedPaths: [".env"] };
  writeFileSync(
    join(root, "gate.config.json"),
    JSON.stringify({ id: "self", version: "2", policies }),
  );
  const environment = { home, now: Date.now, id: () => crypto.randomUUID(), log: () => {} };
  gate = await startGate({ environment, port: 0 });
  await gate.daemon.projects.register(root, PERSON);
  headers = {
    agent: `Authorization: Bearer ${await readToken(home, "agent")}`,
    reviewer: `Authorization: Bearer ${await readToken(home, "reviewer")}`,
  };
});

afterAll(async () => {
  await gate.close();
  rmSync(base, { recursive: true });
});

const run = (...argv: string[]) =>
  tool(
    folder(),
    ...["run", "--output", "json", "--target", `http://127.0.0.1:${gate.port}`],
    ...["-H", headers.reviewer, ...argv],
  );

test("gate passes its own scenarios, including races", async () => {
  const file = fileURLToPath(new URL("../../scenarios/gate.json", import.meta.url));
  const { code, stdout } = await run(
    ...["--scenarios", file, "--driver", "playbook"],
    ...["--as", `agent=${headers.agent}`, "--as", `reviewer=${headers.reviewer}`],
  );
  const { executions } = JSON.parse(stdout);
  const seen = executions.map(({ status, reason }: { status: string; reason: string }) =>
    `${status}: ${reason}`
  );
  expect(seen.filter((line: string) => !line.startsWith("passed"))).toEqual([]);
  expect(code).toBe(0);
});

test(
  "gate passes the scenarios generated from its OpenAPI document, with two identities",
  async () => {
    const fetch = createSocketFetch(null);
    const answer = await fetch(`http://127.0.0.1:${gate.port}/api/openapi.json`, {
      headers: { authorization: headers.reviewer.replace("Authorization: ", "") },
    });
    const spec = join(folder({ "openapi.json": await answer.json() }), "openapi.json");
    const { code, stdout } = await run(
      ...["--spec", spec, "--depth", "aggressive"],
      ...["--as", `alice=${headers.reviewer}`, "--as", `bob=${headers.agent}`],
    );
    const { executions, summary } = JSON.parse(stdout);
    const failed = executions.filter(({ status }: { status: string }) => status === "failed")
      .map(({ scenario_id, reason }: { scenario_id: string; reason: string }) =>
        `${scenario_id} ${reason}`
      );
    expect(failed).toEqual([]);
    expect(summary.executed).toBeGreaterThan(1_500);
    expect(code).toBe(0);
  },
  400_000, // its own 1,500 scenarios keep a busy machine busier
);

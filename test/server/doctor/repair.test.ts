import { expect, test } from "vitest";
import { secretVariables } from "../../../server/config/secret_variables.ts";
import { GlobalConfig } from "../../../server/config/schema.ts";
import type { NewEvent } from "../../../server/db/ledger.ts";
import { Doctor } from "../../../server/doctor/doctor.ts";
import type { SelfRun } from "../../../server/runtime/run_self.ts";
import { createTestGate, testCaller } from "../../helpers.ts";

const reviewer = testCaller("reviewer");
const SETUP = { kind: "host", host: "cursor", enforce: true } as const;

/** A doctor whose commands end when the test says so. */
async function open(env: Record<string, string> = {}, secrets: string[] = []) {
  const { environment } = await createTestGate();
  const events: NewEvent[] = [];
  const started: Record<string, string | undefined>[] = [];
  let resolve = (_run: SelfRun) => {};
  const promise = new Promise<SelfRun>((done) => resolve = done);
  const doctor = new Doctor({
    ...{ environment, env, port: 1 },
    record: (event) => Promise.resolve(void events.push(event)),
    secretVariables: () => Promise.resolve(secrets),
    run: (_words, options) => {
      started.push(options.env);
      return promise;
    },
  });
  const finish = (report: unknown) =>
    resolve({ code: 0, stdout: JSON.stringify(report), stderr: "" });
  return { doctor, events, started, finish };
}

test("a repair that fails in part records the files that it changed, then fails", async () => {
  const { doctor, events, finish } = await open();
  finish({
    hosts: [{ host: "cursor", outcome: "added", file: "/u/mcp.json", backup: null }],
    hooks: [{ host: "cursor", outcome: "failed", file: null, problem: "disk full", next: "wait" }],
  });
  await expect(doctor.repair(SETUP, reviewer)).rejects.toMatchObject({
    code: "conflict",
    message: "Cannot repair the finding: disk full; wait",
  });
  expect(events).toMatchObject([{
    type: "machine.repaired",
    data: { files: ["/u/mcp.json"], failed: [{ name: "cursor", problem: "disk full" }] },
  }]);
});

test("a repair that changes nothing and fails is no event", async () => {
  const { doctor, events, finish } = await open();
  finish({ files: [{ root: "/p", outcome: "failed", file: "AGENTS.md", problem: "no" }] });
  await expect(doctor.repair({ kind: "instructions" }, reviewer)).rejects.toThrow(": no");
  expect(events).toEqual([]);
});

test("a second repair is refused while one runs, and not afterwards", async () => {
  const { doctor, finish, started } = await open();
  const first = doctor.repair(SETUP, reviewer);
  await expect(doctor.repair(SETUP, reviewer)).rejects.toMatchObject({ code: "conflict" });
  finish({ hosts: [{ host: "cursor", outcome: "unchanged", file: "/u/mcp.json" }] });
  expect(await first).toEqual({ files: [] });
  expect(await doctor.repair(SETUP, reviewer)).toEqual({ files: [] });
  expect(started).toHaveLength(2);
});

test("callers who ask while the checks run share one later run", async () => {
  const { doctor, finish, started } = await open();
  const first = doctor.check(reviewer);
  const later = [doctor.check(reviewer), doctor.check(reviewer)];
  await expect.poll(() => started.length).toBe(1);
  finish({ ok: true, version: "1", findings: [] });
  await Promise.all([first, ...later]);
  expect(started).toHaveLength(2);
  await doctor.check(reviewer);
  expect(started).toHaveLength(3);
});

test("the command gets no variable that the config names as a secret", async () => {
  const config = GlobalConfig.parse({
    storage: { url: "https://ledgers.example.com", authTokenEnv: "TOKEN" },
    notifications: {
      receivers: [
        { id: "hook", kind: "webhook", url_env: "HOOK", secret_env: "SECRET" },
        {
          ...{ id: "mail", kind: "email", from: "a@example.com" },
          smtp: { host: "mail.example.com", user: "a", password_env: "PASSWORD" },
        },
      ],
    },
  });
  const names = secretVariables(config);
  expect(names).toEqual(["TOKEN", "HOOK", "SECRET", "PASSWORD"]);
  expect(secretVariables(null)).toEqual([]);
  const env = Object.fromEntries([...names, "PATH"].map((name) => [name, "x"]));
  const { doctor, started, finish } = await open(env, names);
  finish({ hosts: [] });
  await doctor.repair(SETUP, reviewer);
  expect(Object.keys(started[0]!).sort()).toEqual([
    "GATE_ERRORS",
    "GATE_HOME",
    "GATE_PORT",
    "PATH",
  ]);
});

import { expect, test, vi } from "vitest";
import { Connection } from "../../../server/db/connection.ts";
import { createTestGate, type TestGateOptions } from "../../helpers.ts";
import { enrol, prove, sendTo, withPassphrase } from "../proof/person.ts";

/** The statements outside of a commit, and the commits. */
interface Counted {
  reads: string[];
  commits: number;
}

/** Matches late work of databases: the stream, the word index and the notifications. */
const LATE = /INTO (?:stream|actions_words)|\b(?:projected|notifications(?:_cursor)?)\b/;

/** Counts what every database of the daemon runs, except late work. */
async function count(work: () => Promise<void>): Promise<Counted> {
  const counted: Counted = { reads: [], commits: 0 };
  const { run, batch } = Connection.prototype;
  let inBatch = false;
  const spies = [
    vi.spyOn(Connection.prototype, "run").mockImplementation(function (this: Connection, one) {
      if (!inBatch && !LATE.test(one.sql)) {
        counted.reads.push(/ FROM (\w+)/.exec(one.sql)?.[1] ?? one.sql);
      }
      return run.call(this, one);
    }),
    vi.spyOn(Connection.prototype, "batch").mockImplementation(function (
      this: Connection,
      all,
      options,
    ) {
      // An empty batch only commits what is held.
      if (all.length > 0 && !all.some(({ sql }) => LATE.test(sql))) counted.commits++;
      inBatch = true;
      try {
        return batch.call(this, all, options);
      } finally {
        inBatch = false;
      }
    }),
  ];
  try {
    await work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return counted;
}

async function open(options: TestGateOptions) {
  const gate = await createTestGate(options);
  const opening = await gate.request("POST", "/api/sessions", { host: "codex" }, "agent");
  const { id: session_id } = await opening.json();
  let at = 0;
  const write = async () => {
    const input = { path: "a.txt", content: `${++at}\n` };
    const body = { tool: "write_file", input, session_id };
    const answer = await gate.request("POST", "/api/actions", body, "agent");
    return await answer.json() as { id: string; status: string; execution: string };
  };
  return { gate, write };
}

test("an allowed write reads twice and commits twice", async () => {
  const { write } = await open({});
  for (let warm = 0; warm < 3; warm++) expect(await write()).toMatchObject({ status: "approved" });
  const counted = await count(async () => {
    expect(await write()).toMatchObject({ execution: "succeeded" });
  });
  expect(counted).toEqual({
    reads: ["roots", "json_each"],
    commits: 2,
  });
});

test.each<[string, TestGateOptions, string[]]>([
  ["the reviewer's token", {}, []],
  ["a signed proof", { proof: "none" }, ["audit", "audit"]],
])("a write that is held, and approved with %s", async (_, options, log) => {
  const { gate, write } = await open({ policies: { defaultEffect: "ask" }, ...options });
  const [send, person] = [sendTo(gate), withPassphrase()];
  if (options.proof) expect((await enrol(send, person)).status).toBe(200);
  const approve = async (id: string) => {
    const request = ["POST", `/api/actions/${id}/approve`, {}] as const;
    const answer = options.proof ? await prove(send, person, [...request]) : await send(...request);
    expect(answer.status).toBe(200);
  };
  for (let warm = 0; warm < 3; warm++) await approve((await write()).id);
  let id = "";
  const held = await count(async () => void ({ id } = await write()));
  expect(held).toEqual({
    reads: ["roots", "grants", "actions", "json_each"],
    commits: 1,
  });
  const approved = await count(() => approve(id));
  const asked = options.proof ? ["actions", "actions", "sessions"] : [];
  expect(approved).toEqual({
    reads: [
      ...asked,
      ...["actions", "actions", "sessions", ...log, "sessions", "blobs", "blobs", "blobs"],
    ],
    commits: 3,
  });
  expect(await gate.project.actions.get(id)).toMatchObject({ execution: "succeeded" });
});

test("a hook of a known session reads no session, also while other commands run", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "allow" } });
  const ask = async (key: string) => {
    const call = { session_id: "s", cwd: gate.root, hook_event_name: "PreToolUse" };
    const tool = { tool_name: "Bash", tool_input: { command: `echo ${key}` }, tool_use_id: key };
    const path = "/api/hooks/claude-code?wait_ms=0";
    const answer = await gate.request("POST", path, { ...call, ...tool }, "agent");
    expect(await answer.json()).toEqual({});
  };
  for (const key of ["k1", "k2", "k3"]) await ask(key);
  const counted = await count(() => ask("k4"));
  expect(counted).toEqual({ reads: [], commits: 1 });
});

import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Sqlite from "libsql";
import { expect, onTestFinished, test } from "vitest";
import { ownUid } from "../../../server/runtime/process_list.ts";
import { startCpuClock } from "../../cpu_clock.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";
import { BOOT, emptyHome, fixture, TestMachine } from "./machine.ts";

const ALPHA = "/home/dev/proj/alpha";
const NOW = Date.parse("2026-11-20T09:00:00.000Z");
const UID = ownUid() ?? 0;

/** A machine on which one session of Claude Code works, and what a case may damage. */
interface Place {
  gate: TestGate;
  machine: TestMachine;
  home: string;
  registered: string;
  transcript: string;
}

/** An answer of 10 tokens. */
function answer(id: number, more: object = {}): string {
  const usage = { input_tokens: 4, output_tokens: 6 };
  const message = { id: `m${id}`, model: "opus", content: [], usage };
  const timestamp = "2026-11-20T08:59:00.000Z";
  return JSON.stringify({ type: "assistant", requestId: `r${id}`, timestamp, message, ...more });
}

async function createPlace(): Promise<Place> {
  const home = emptyHome();
  const machine = new TestMachine();
  const gate = await createTestGate({ machine: { processes: machine, home, env: {} } });
  gate.clock.now = NOW;
  const registered = join(home, ".claude/sessions/70.json");
  const transcript = join(home, ".claude/projects/-home-dev-proj-alpha/s1.jsonl");
  for (const path of [registered, transcript]) mkdirSync(dirname(path), { recursive: true });
  const entry = { pid: 70, sessionId: "s1", cwd: ALPHA, procStart: "70", status: "busy" };
  writeFileSync(registered, JSON.stringify(entry));
  writeFileSync(transcript, `${answer(1)}\n`);
  machine.add(70, "claude", { uid: UID, cwd: ALPHA });
  return { gate, machine, home, registered, transcript };
}

interface Shown {
  session_id: string;
  agent: string;
  status: string;
  status_source: string;
  tokens: { total: number } | null;
  last_activity_at: string | null;
}

/** The sessions as the API shows them. The answer must come soon. */
async function shown({ gate }: Place): Promise<Shown[]> {
  gate.clock.advance(2_000);
  const cpuMs = startCpuClock();
  const response = await gate.request("GET", "/api/agent-monitor/sessions");
  expect(response.status).toBe(200);
  expect(cpuMs()).toBeLessThan(2_000);
  return (await response.json() as { items: Shown[] }).items;
}

function openOpencode({ home, machine }: Place): Sqlite.Database {
  const path = join(home, ".local/share/opencode/opencode.db");
  mkdirSync(dirname(path), { recursive: true });
  const database = new Sqlite(path);
  onTestFinished(() => void (database.open && database.close()));
  database.exec(readFileSync(fixture("opencode/opencode.sql"), "utf8"));
  machine.add(80, "opencode", { uid: UID, cwd: ALPHA });
  return database;
}

/** A session of Claude Code that works, with this many tokens. */
const claude = (total: number | null, more: object = {}) => ({
  ...{ session_id: "s1", agent: "claude-code", status: "working", status_source: "registry" },
  ...{ tokens: total === null ? null : { total }, ...more },
});
const unknownProcess = (pid: number, agent: string) => ({
  ...{ session_id: `process-${pid}`, agent, status: "unknown", status_source: "process" },
  tokens: null,
});

const CASES: [string, (place: Place) => void, object[]][] = [
  ["a truncated last line", ({ transcript }) => {
    appendFileSync(transcript, answer(2).slice(0, 40));
  }, [claude(10)]],
  ["a line of 20 MB", ({ transcript }) => {
    const long = JSON.stringify({ type: "user", x: "a".repeat(20_000_000) });
    appendFileSync(transcript, `${long}\n${answer(2)}\n`);
    // One round reads 1 MiB of what is older.
  }, [claude(10, { tokens_complete: false })]],
  ["a line of 20 MB without an end", ({ transcript }) => {
    appendFileSync(transcript, `{"type":"user","x":"${"a".repeat(20_000_000)}`);
  }, [claude(10)]],
  ["a byte-order mark", ({ transcript }) => {
    writeFileSync(transcript, `\ufeff${answer(1)}\r\n${answer(2)}\r\n`);
  }, [claude(20)]],
  ["a replaced file", ({ transcript }) => {
    writeFileSync(`${transcript}.new`, `${answer(3)}\n${answer(4)}\n${answer(5)}\n`);
    renameSync(`${transcript}.new`, transcript);
  }, [claude(30)]],
  ["a file that was shortened", ({ transcript }) => {
    writeFileSync(transcript, "");
  }, [claude(null)]],
  ["a transcript that is a link", ({ transcript, home }) => {
    renameSync(transcript, join(home, "elsewhere.jsonl"));
    appendFileSync(join(home, "elsewhere.jsonl"), `${answer(2)}\n`);
    symlinkSync(join(home, "elsewhere.jsonl"), transcript);
  }, [claude(10)]],
  ["a transcript that is a folder", ({ transcript }) => {
    rmSync(transcript);
    mkdirSync(transcript);
  }, [claude(10)]],
  ["a registry entry that is a link", ({ registered, home }) => {
    renameSync(registered, join(home, "elsewhere.json"));
    symlinkSync(join(home, "elsewhere.json"), registered);
  }, [unknownProcess(70, "claude-code")]],
  ["a session id that leads out of the folder", ({ registered, home }) => {
    writeFileSync(join(home, "secret.jsonl"), `${answer(9)}\n`);
    const entry = JSON.parse(readFileSync(registered, "utf8"));
    writeFileSync(registered, JSON.stringify({ ...entry, sessionId: "../../../secret" }));
  }, [unknownProcess(70, "claude-code")]],
  ["a reused pid", ({ machine }) => {
    machine.running = [];
    machine.add(70, "vim notes", { uid: UID, start_time: `${BOOT}:71` });
  }, []],
  ["a foreign namespace of pids", ({ registered }) => {
    const entry = JSON.parse(readFileSync(registered, "utf8"));
    const pidDomain = "linux:0:pid:[4026532999]";
    writeFileSync(registered, JSON.stringify({ ...entry, pidDomain }));
  }, [unknownProcess(70, "claude-code")]],
  ["a working folder that was deleted", ({ registered, machine }) => {
    const entry = JSON.parse(readFileSync(registered, "utf8"));
    writeFileSync(registered, JSON.stringify({ ...entry, cwd: "/gone/with the wind" }));
    machine.folders.set(70, "/gone/with the wind");
  }, [claude(null, { cwd: "/gone/with the wind", project_id: null, git: null })]],
  ["unknown kinds of records", ({ transcript }) => {
    const odd = ['{"type":"new","x":[1]}', "null", "[]", "17", '{"type":{}}', "{}"].join("\n");
    appendFileSync(transcript, `${odd}\n${answer(2)}\n`);
  }, [claude(20)]],
  ["a call that the agent gave up", ({ registered, transcript }) => {
    const content = [{ type: "tool_use", id: "t", name: "Bash" }];
    const message = { id: "m2", model: "opus", content, usage: { output_tokens: 10 } };
    appendFileSync(transcript, `${answer(2, { message })}\n`);
    const entry = JSON.parse(readFileSync(registered, "utf8"));
    writeFileSync(registered, JSON.stringify({ ...entry, status: "idle" }));
  }, [claude(20, { status: "idle", current_task: null })]],
  ["calls that never end", ({ transcript }) => {
    const lines = Array.from({ length: 3_000 }, (_, at) => {
      const content = [{ type: "tool_use", id: `t${at}`, name: `Tool${at}` }];
      return `${answer(2, { message: { id: "m2", model: "opus", content } })}\n`;
    });
    appendFileSync(transcript, lines.join(""));
  }, [claude(10, { current_task: "Tool2999" })]],
  ["a child that listens on 20,000 ports", ({ machine }) => {
    machine.add(71, "node server.js", { uid: UID, ppid: 70 });
    for (let port = 1; port <= 20_000; port++) machine.listen(71, port);
  }, [claude(10)]],
  ["3,000 children", ({ machine }) => {
    for (let pid = 100; pid < 3_100; pid++) {
      machine.add(pid, `sleep ${pid}`, { uid: UID, ppid: 70 });
    }
  }, [claude(10)]],
  ["a damaged registry", ({ registered }) => {
    writeFileSync(registered, '{"pid":70,"sessionId":');
  }, [unknownProcess(70, "claude-code")]],
  ["a clock that is ahead", ({ transcript }) => {
    const timestamp = "2031-01-01T00:00:00.000Z";
    appendFileSync(transcript, `${answer(2, { timestamp })}\n`);
  }, [claude(20, { last_activity_at: new Date(NOW + 4_000).toISOString() })]],
  ["times that no date can hold", ({ transcript }) => {
    for (const timestamp of [9e99, -5, "yesterday", null]) {
      appendFileSync(transcript, `${answer(2, { timestamp })}\n`);
    }
  }, [claude(20, { last_activity_at: "2026-11-20T08:59:00.000Z" })]],
  ["a locked SQLite file", (place) => {
    openOpencode(place).exec("BEGIN EXCLUSIVE");
  }, [claude(10), unknownProcess(80, "opencode")]],
  ["a SQLite file without the tables", (place) => {
    openOpencode(place).exec("DROP TABLE message");
  }, [claude(10), unknownProcess(80, "opencode")]],
  ["a SQLite file without the indexes", (place) => {
    openOpencode(place).exec("DROP INDEX message_session_time_created_id_idx");
  }, [claude(10), unknownProcess(80, "opencode")]],
  ["a SQLite view that never ends", (place) => {
    openOpencode(place).exec(`DROP TABLE session; CREATE VIEW session AS
      WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n`);
  }, [claude(10), unknownProcess(80, "opencode")]],
  ["a SQLite column that is computed", (place) => {
    openOpencode(place).exec(
      "ALTER TABLE message ADD COLUMN x TEXT GENERATED ALWAYS AS (hex(zeroblob(1e6))) VIRTUAL",
    );
  }, [claude(10), unknownProcess(80, "opencode")]],
  ["a file that is no SQLite file", (place) => {
    openOpencode(place).close();
    const path = join(place.home, ".local/share/opencode/opencode.db");
    rmSync(path);
    writeFileSync(path, "no database ".repeat(1_000));
  }, [claude(10), unknownProcess(80, "opencode")]],
];

test.each(CASES)("%s", async (_name, damage, expected) => {
  const place = await createPlace();
  expect(await shown(place)).toMatchObject([claude(10)]);
  damage(place);
  expect(await shown(place)).toMatchObject(expected);
  // The next round tells the same, and the daemon still answers.
  const again = await shown(place);
  expect(again.map(({ session_id, status }) => [session_id, status])).toEqual(
    (expected as Shown[]).map(({ session_id, status }) => [session_id, status]),
  );
});

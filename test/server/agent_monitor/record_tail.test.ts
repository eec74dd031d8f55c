import {
  appendFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ClaudeReader } from "../../../server/agent_monitor/agents/claude_code.ts";
import { RecordTail } from "../../../server/agent_monitor/record_tail.ts";
import { emptyHome } from "./machine.ts";

/** A line of an answer with 10 tokens of output. */
function answer(id: number, more: object = {}): string {
  const usage = { input_tokens: 1, output_tokens: 10 };
  const message = { id: `m${id}`, model: "opus", content: [], usage, ...more };
  return JSON.stringify({ type: "assistant", requestId: `r${id}`, message });
}

function follow(text: string | Uint8Array) {
  const path = join(emptyHome(), "record.jsonl");
  writeFileSync(path, text);
  const tail = new RecordTail({ path, read: () => new ClaudeReader() });
  onTestFinished(() => tail.close());
  const read = async (bytes = 1e9) => {
    await tail.advance({ bytes, ms: Infinity });
    return tail.facts().tokens?.output ?? null;
  };
  return { path, tail, read };
}

test("a line counts once it is complete, however it is cut", async () => {
  const { path, read } = follow(`${answer(1)}\n${answer(2).slice(0, 30)}`);
  expect(await read()).toBe(10);
  expect(await read()).toBe(10);
  appendFileSync(path, answer(2).slice(30));
  expect(await read()).toBe(10);
  appendFileSync(path, "\n");
  expect(await read()).toBe(20);
});

test.each<[string, string | Uint8Array, number | null]>([
  ["a byte-order mark", `\ufeff${answer(1)}\n`, 10],
  ["line ends of Windows", `${answer(1)}\r\n${answer(2)}\r\n`, 20],
  ["an answer in several lines", `${answer(1)}\n${answer(1)}\n${answer(1)}\n`, 10],
  ["a damaged line", `${answer(1)}\n{"type":\n[]\n"x"\n17\n${answer(2)}\n`, 20],
  ["an unknown kind of record", `{"type":"new","message":7}\n${answer(1)}\n`, 10],
  ["records of other forms", `{"type":"assistant"}\n{"type":"user","message":[]}\n`, 0],
  ["an answer that the program made up", `${answer(1, { model: "<synthetic>" })}\n`, null],
  ["counts that are no numbers", `${answer(1, { usage: { output_tokens: "9", x: -1 } })}\n`, 0],
  ["negative and broken counts", `${answer(1, { usage: { output_tokens: -9e99 } })}\n`, 0],
  ["bytes that are no UTF-8", new Uint8Array([0xff, 0xfe, 10, 0x7b, 10]), null],
  ["an empty file", "", null],
])("%s", async (_name, text, expected) => {
  expect(await follow(text).read()).toBe(expected);
});

test("a line of 20 MB is passed over without being kept", async () => {
  const long = `{"type":"user","x":"${"a".repeat(20_000_000)}"}\n`;
  const { path, read } = follow(`${answer(1)}\n${long}${answer(2)}\n`);
  expect(await read()).toBe(20);
  appendFileSync(path, `${answer(3)}\n`);
  expect(await read()).toBe(30);
});

test("a closed record goes on where it ended", async () => {
  const { path, tail, read } = follow(`${answer(1)}\n${answer(2).slice(0, 30)}`);
  expect(await read()).toBe(10);
  await tail.close();
  appendFileSync(path, `${answer(2).slice(30)}\n`);
  expect(await read()).toBe(20);
});

test.runIf(platform() === "linux")("a record is open only while it grows", async () => {
  const { path, read } = follow(`${answer(1)}\n`);
  const isOpen = () =>
    readdirSync("/proc/self/fd").some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === path;
      } catch {
        return false; // it has been closed meanwhile
      }
    });
  await read();
  appendFileSync(path, `${answer(2)}\n`);
  expect(await read()).toBe(20);
  expect(isOpen()).toBe(true);
  expect(await read()).toBe(20);
  expect(isOpen()).toBe(false);
});

test("another file of that name, and a shortened one, are read anew", async () => {
  const { path, read } = follow(`${answer(1)}\n${answer(2)}\n`);
  expect(await read()).toBe(20);
  writeFileSync(`${path}.new`, `${answer(3)}\n${answer(4)}\n${answer(5)}\n`);
  renameSync(`${path}.new`, path);
  expect(await read()).toBe(30);
  writeFileSync(path, `${answer(6)}\n`);
  expect(await read()).toBe(10);
});

test("a link, a folder and a missing file tell nothing", async () => {
  const { path, read } = follow(`${answer(1)}\n`);
  renameSync(path, `${path}.real`);
  symlinkSync(`${path}.real`, path);
  expect(await read()).toBe(null);
  rmSync(path);
  expect(await read()).toBe(null);
});

test("new lines are read although other records have used up the round", async () => {
  const { path, read } = follow(`${answer(1)}\n`);
  expect(await read(0)).toBe(10);
  appendFileSync(path, `${answer(2)}\n`);
  expect(await read(0)).toBe(20);
});

test("of a long record the end is known at once, the sum after some rounds", async () => {
  const filler = JSON.stringify({ type: "attachment", text: "x".repeat(900) });
  const block = `${Array.from({ length: 1_000 }, () => filler).join("\n")}\n`;
  const lines = Array.from({ length: 4 }, (_, at) => `${answer(at)}\n${block}`);
  const last = answer(9, { model: "newest", stop_reason: "end_turn" });
  const { tail, read } = follow(`${lines.join("")}${last}\n`);
  expect(await read(500_000)).toBe(10);
  expect(tail.facts()).toMatchObject({ model: "newest", status: "idle" });
  expect(tail.isComplete).toBe(false);
  for (let round = 0; round < 8; round++) await read(500_000);
  expect(tail.isComplete).toBe(true);
  expect(tail.facts().tokens?.output).toBe(50);
});

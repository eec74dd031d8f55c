import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openGate, sha } from "../harness.ts";

const text = (content: string) => new TextEncoder().encode(content);
const CONTENTS: [name: string, content: Uint8Array][] = [
  ["empty", text("")],
  ["no final newline", text("one\ntwo")],
  ["CRLF", text("one\r\ntwo\r\n")],
  ["BOM", text("\ufeffone\n")],
  ["256 bytes, each value", Uint8Array.from({ length: 256 }, (_, n) => n)],
  ["invalid UTF-8", Uint8Array.from([0x61, 0xff, 0xfe, 0xc3, 0x28, 0x0a])],
  ["one byte more than a chunk", new Uint8Array(1024 * 1024 + 1).fill(7)],
  ["larger than the limit in memory", new Uint8Array(9 * 1024 * 1024 + 3).fill(9)],
];

describe("a rollback restores every byte", () => {
  test.each(CONTENTS)("%s: after an overwrite, a deletion and a move", async (_, content) => {
    const { gate, submit, back, at } = await openGate();
    gate.write("f", content);
    const hash = sha(content);
    const tools: [string, Record<string, unknown>][] = [
      ["write_file", { path: "f", content: "something else\n" }],
      ["delete_file", { path: "f" }],
      ["move_file", { from: "f", to: "g" }],
    ];
    for (const [tool, input] of tools) {
      const action = await submit(tool, input);
      expect(action).toMatchObject({ execution: "succeeded", reversible: true });
      const { rollback } = await back(action.id);
      expect([tool, sha(readFileSync(at("f")))]).toEqual([tool, hash]);
      // A rollback can be rolled back, repeatedly.
      const again = await back(rollback!.id);
      await back(again.rollback!.id);
      expect([tool, sha(readFileSync(at("f")))]).toEqual([tool, hash]);
    }
  });

  test.each(CONTENTS.slice(0, 6))(
    "%s: write_file keeps the bytes that were sent",
    async (_, content) => {
      const { submit, at } = await openGate();
      const action = await submit("write_file", {
        path: "f",
        content: btoa(String.fromCharCode(...content)),
        encoding: "base64",
      });
      expect(action.after_sha256).toBe(sha(content));
      expect(sha(readFileSync(at("f")))).toBe(sha(content));
    },
  );

  test("a deletion is refused when its large file changes while it is read", async () => {
    const { gate, submit, back, at } = await openGate();
    gate.write("f", new Uint8Array(9 * 1024 * 1024).fill(1));
    const hash = sha(readFileSync(at("f")));
    const { ledger } = gate.project;
    const commit = ledger.commit.bind(ledger);
    let commits = 0;
    ledger.commit = (change) => {
      if (++commits === 4) truncateSync(at("f"), 5 * 1024 * 1024);
      return commit(change);
    };
    await expect(submit("delete_file", { path: "f" })).rejects.toMatchObject({ code: "conflict" });
    ledger.commit = commit;
    writeFileSync(at("f"), new Uint8Array(9 * 1024 * 1024).fill(1));
    const action = await submit("delete_file", { path: "f" });
    await back(action.id);
    expect(sha(readFileSync(at("f")))).toBe(hash);
  });
});

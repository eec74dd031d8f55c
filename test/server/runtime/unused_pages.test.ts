import { readFileSync } from "node:fs";
import process from "node:process";
import { expect, test } from "vitest";
import { openSystemCalls } from "../../../server/runtime/system_calls.ts";
import { dropUnusedPages, unchangedFiles } from "../../../server/runtime/unused_pages.ts";

/** A mapping as the kernel tells it, with the lines that count. */
function mapping(head: string, { rss = 8, anonymous = 0 } = {}): string {
  return `${head}\nSize:    16 kB\nRss:     ${rss} kB\nAnonymous:     ${anonymous} kB\nVmFlags: rd\n`;
}

test("only files that nobody can write and nobody has written are given back", () => {
  const smaps = [
    mapping("00400000-00404000 r-xp 00001000 fe:00 12    /usr/bin/gate"),
    mapping("00404000-00408000 r--p 00005000 fe:00 12    /usr/bin/gate"),
    mapping("00408000-0040c000 r--p 00009000 fe:00 12    /usr/bin/gate", { anonymous: 4 }),
    mapping("0040c000-00410000 rw-p 0000d000 fe:00 12    /usr/bin/gate"),
    mapping("00410000-00414000 rwxp 00000000 00:00 0 "),
    mapping("00414000-00418000 r-xp 00000000 00:00 0 "),
    mapping("00418000-0041c000 r-xp 00000000 00:00 0    [vdso]"),
    mapping("0041c000-00420000 r--s 00000000 fe:00 13    /tmp/shared"),
    mapping("00420000-00424000 r-xp 00000000 fe:00 14    /lib/old (deleted)"),
    mapping("00424000-00428000 r-xp 00000000 fe:00 15    /lib/never", { rss: 0 }),
  ].join("");
  expect(unchangedFiles(smaps).map(({ from, to }) => `${from.toString(16)}-${to.toString(16)}`))
    .toEqual(["400000-404000", "404000-408000", "420000-424000"]);
  expect(unchangedFiles("")).toEqual([]);
});

const calls = await openSystemCalls();

test.skipIf(calls === null)(
  "a process gives its unused pages back and goes on (SKIPPED on a runtime without system calls)",
  async () => {
    const before = filePages();
    await dropUnusedPages();
    const after = filePages();
    expect(after).toBeLessThan(0.75 * before);
    expect(new TextEncoder().encode(JSON.stringify([process.pid, ..."äöü"])).length)
      .toBeGreaterThan(10);
    await dropUnusedPages();
  },
);

/** The memory of this process that is pages of files, in KiB. */
function filePages(): number {
  return Number(/^RssFile:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))![1]);
}

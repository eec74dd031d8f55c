import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { parseLocks, parseStat, parseTcpTable } from "../../../server/runtime/linux_processes.ts";
import {
  parseFolders,
  parseLsof,
  parsePrograms,
  parsePs,
} from "../../../server/runtime/mac_processes.ts";
import { openProcessList } from "../../../server/runtime/open_process_list.ts";
import { ownUid, sendSignal } from "../../../server/runtime/process_list.ts";
import { identify } from "../../../server/runtime/processes.ts";
import { parseCim, parseNetstat } from "../../../server/runtime/windows_processes.ts";
import { fixture } from "../agent_monitor/machine.ts";

const textOf = (name: string) => readFileSync(fixture(`proc/${name}`), "utf8");

test("Linux: the recorded process and its port", () => {
  expect(parseStat(textOf("linux.stat.txt"))).toEqual({
    ppid: 1,
    start_ticks: 225_955,
    memory_pages: 5_214,
  });
  expect(parseStat("7 (a) b ) (c) Z 1")).toBe(null);
  expect(parseStat("")).toBe(null);
  expect(parseTcpTable(textOf("linux.proc_net_tcp.txt"), 4)).toEqual([
    { address: "127.0.0.1", port: 18_755, family: 4, inode: "1294880" },
  ]);
  const row = "  0: 00000000000000000000000001000000:1F90 0:0 0A 0 0 0 0 0 77 1";
  expect(parseTcpTable(`head\n${row}\nbroken\n`, 6)).toEqual([
    { address: "::1", port: 8_080, family: 6, inode: "77" },
  ]);
  const locks = "1: FLOCK  ADVISORY  WRITE 411 fe:01:1837 0 EOF\n2: -> POSIX ADVISORY READ 9 x\n";
  expect(parseLocks(locks)).toEqual(new Set([`${(0xfe << 8) | 1}:1837`]));
});

test("macOS: recorded outputs of ps and lsof", () => {
  const header =
    "21810     1     0  5120 Fri Nov 20 08:48:19 2026 /usr/bin/python3 -m http.server\n";
  expect(parsePs(`  PID  PPID ...\n${header}`)).toEqual([{
    pid: 21_810,
    ppid: 1,
    uid: 0,
    start_time: "Fri Nov 20 08:48:19 2026",
    started_at: Date.parse("2026-11-20T08:48:19Z"),
    argv: ["/usr/bin/python3", "-m", "http.server"],
    memory_bytes: 5_242_880,
  }]);
  expect(parseLsof(textOf("lsof-F.txt"))).toEqual([
    { pid: 21_810, port: 18_755, address: "127.0.0.1", family: 4 },
  ]);
  expect(parseLsof("p7\nf3\ntIPv6\nPTCP\nn*:3000\nn[::1]:3001\n")).toEqual([
    { pid: 7, port: 3_000, address: "::", family: 6 },
    { pid: 7, port: 3_001, address: "::1", family: 6 },
  ]);
  expect(parseFolders("p7\nfcwd\nn/Users/a b\np8\nfcwd\nn/tmp\n")).toEqual(
    new Map([[7, "/Users/a b"], [8, "/tmp"]]),
  );
});

test("Windows: recorded outputs of CIM and netstat", () => {
  expect(parseCim(textOf("windows-cim.synthetic.json"))).toMatchObject([{
    pid: 21_884,
    ppid: 0,
    started_at: 1_795_163_055_372,
    argv: [
      "C:\\Program Files\\nodejs\\node.exe",
      "C:\\w\\alpha\\node_modules\\vite\\bin\\vite.js",
    ],
  }]);
  const pair = [
    { ProcessId: 2, ParentProcessId: 1, CreationDate: "/Date(100)/" },
    { ProcessId: 3, ParentProcessId: 2, CreationDate: "/Date(200)/" },
    // The pid of its parent was given to a later process.
    { ProcessId: 4, ParentProcessId: 3, CreationDate: "/Date(150)/" },
  ];
  expect(parseCim(JSON.stringify(pair)).map(({ ppid }) => ppid)).toEqual([0, 2, 0]);
  expect(parseCim("no JSON")).toEqual([]);
  expect(parseNetstat(textOf("windows-netstat-ano.synthetic.txt"))).toEqual([
    { pid: 1_044, port: 135, address: "0.0.0.0", family: 4 },
    { pid: 21_884, port: 5_173, address: "127.0.0.1", family: 4 },
    { pid: 21_884, port: 5_173, address: "::1", family: 6 },
  ]);
});

const START = "Fri Nov 20 08:48:19 2026";

test.each<[string, string, [number, number | null, string[]][]]>([
  ["another user", `1 0 -2 0 ${START} /usr/sbin/x`, [[1, -2, ["/usr/sbin/x"]]]],
  ["a day of one digit", "2 1 501 0 Fri Nov  6 08:48:19 2026 sh", [[2, 501, ["sh"]]]],
  ["a program with blanks in its path", `3 1 501 0 ${START} /Users/a b/bin/claude --x`, [
    [3, 501, ["/Users/a b/bin/claude", "--x"]],
  ]],
  ["a process without a command", `4 1 501 0 ${START} \n5 1 501 0 ${START} sh`, [[5, 501, ["sh"]]]],
  ["a line that is cut", `6 1 501 0 ${START} sh\n7 1 501 0 Fri Nov 2`, [[6, 501, ["sh"]]]],
  ["a row of text", "codex 1 501 0 Fri", []],
  ["nothing", "", []],
])("macOS: ps with %s", (_name, text, expected) => {
  const programs = parsePrograms("    3 /Users/a b/bin/claude\n  5 sh\nx y\n8");
  const found = parsePs(text, programs).map(({ pid, uid, argv }) => [pid, uid, argv]);
  expect(found).toEqual(expected);
});

test("macOS: odd outputs of lsof", () => {
  const zone = "p7\nf3\ntIPv6\nPTCP\nn[fe80::1%lo0]:3000\n";
  expect(parseLsof(zone)).toEqual([{ pid: 7, port: 3_000, address: "fe80::1%lo0", family: 6 }]);
  expect(parseLsof("n*:80\np\nn*:80\npx\nn*:80\np9\nn*:http\nn*:\np9\nn*:8")).toEqual([
    { pid: 9, port: 8, address: "0.0.0.0", family: 4 },
  ]);
  expect(parseFolders("p7\nfcwd\nn/Users/jos\\xc3\\xa9/x\np8\nfcwd\np9\nfcwd\nn/a\np10\nfc"))
    .toEqual(new Map([[7, "/Users/josé/x"], [9, "/a"]]));
});

test("Windows: odd outputs", () => {
  const netstat = [
    "Aktive Verbindungen",
    "  Proto  Lokale Adresse  Remoteadresse  Status  PID",
    "  TCP    [fe80::1%12]:3000      [::]:0                 ABHÖREN         9120",
    "  TCP    0.0.0.0:135            0.0.0.0:0              ABHÖREN",
    "  TCP    0.0.0.0:136            0.0.0.0:0              ABHÖREN         0",
    "  UDP    0.0.0.0:500            *:*                                    9121",
    "  TCP    127.0.0.1:54012        127.0.0.1:5173         HERGESTELLT     9120",
    "  TCP    0.0.0.0:13",
  ].join("\r\n");
  expect(parseNetstat(netstat)).toEqual([
    { pid: 9_120, port: 3_000, address: "fe80::1%12", family: 6 },
  ]);
  const row = { ProcessId: 5, ParentProcessId: 1, CommandLine: "C:\\é\\claude.exe" };
  const [found] = parseCim(`\ufeff${JSON.stringify({ ...row, CreationDate: null })}`);
  expect(found).toMatchObject({ pid: 5, start_time: "", argv: ["C:\\é\\claude.exe"] });
  const iso = { ...row, CreationDate: "2026-11-20T08:48:19.5+01:00" };
  expect(parseCim(JSON.stringify([iso, { ProcessId: "6" }, null, 7]))).toMatchObject([
    { started_at: Date.parse("2026-11-20T07:48:19.500Z") },
  ]);
  expect(parseCim(JSON.stringify([iso]).slice(0, -2))).toEqual([]);
});

test("a real child: identity, folder, marks, port", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "gate-list-")));
  const code = "const s = require('net').createServer().listen(0, '127.0.0.1', () => " +
    "console.log(s.address().port))";
  const env = { PATH: process.env.PATH, CLAUDECODE: "1", OTHER: "secret" };
  const child = spawn("node", ["-e", code], { cwd: folder, env });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });
  const [line] = await once(child.stdout, "data");
  const pid = child.pid!;
  const list = openProcessList();
  const found = (await list.all()).find((one) => one.pid === pid);
  expect(found).toMatchObject({
    ...identify(pid),
    ppid: process.pid,
    uid: ownUid(),
    argv: [expect.stringMatching(/node$/), "-e", code],
  });
  expect(Math.abs(found!.started_at! - Date.now())).toBeLessThan(60_000);
  expect(found!.memory_bytes).toBeGreaterThan(1_000_000);
  expect(await list.foldersOf([pid, 1_999_999_999])).toEqual(new Map([[pid, folder]]));
  expect(await list.variablesOf(pid, new Set(["CLAUDECODE", "GH_TOKEN"]))).toEqual({
    CLAUDECODE: "1",
  });
  const port = Number(String(line).trim());
  expect((await list.listening()).filter((one) => one.pid === pid)).toEqual([
    { pid, port, address: "127.0.0.1", family: 4 },
  ]);
  // A socket that is new since the last look is found too.
  const server = createServer().listen(0);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const own = (server.address() as AddressInfo).port;
  expect((await list.listening()).some((one) => one.pid === process.pid && one.port === own))
    .toBe(true);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect((await list.all()).some((one) => one.pid === pid)).toBe(false);
});

test.each([0, 1, -1, 1.5, NaN, process.pid])("no signal goes to %d", (pid) => {
  expect(sendSignal(pid, "SIGTERM")).toBe("refused");
});

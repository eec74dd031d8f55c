import { expect, test } from "vitest";
import { pathsMet, wallsMet } from "../../../server/sandbox/walls_met.ts";

test.each([
  ["cat: .env: Permission denied", '".env" is hidden'],
  ["PermissionError: [Errno 13] Permission denied: '.env'", '".env" is hidden'],
  ["Error: EACCES: permission denied, open '/home/u/p/.env'", '"/home/u/p/.env" is hidden'],
  ["error: .env: can only add regular files, symbolic links", '".env" is hidden'],
  ["bash: kept/a.sql: Read-only file system", "is read-only in the sandbox"],
  ["mv: cannot move 'api' to 'b': Device or resource busy", '"api" holds a file'],
  ["curl: (6) Could not resolve host: example.com", '"example.com" is out of reach'],
  [
    "npm error request to https://x failed, reason: getaddrinfo EAI_AGAIN registry.example.org",
    "no network",
  ],
  ["connect ECONNREFUSED 127.0.0.1:5432", "a network of its own"],
])("%j", (line, expected) => {
  expect(wallsMet(`before\n${line}\nafter\n`, [])).toEqual([expect.stringContaining(expected)]);
});

test("an error that Node prints with its fields names its wall once", () => {
  const output =
    "Error: EACCES: permission denied, open '/p/.env'\n    at open (node:fs:573:18) {\n" +
    "  errno: -13,\n  code: 'EACCES',\n  syscall: 'open',\n  path: '/p/.env'\n}\n";
  expect(wallsMet(output, [])).toEqual([expect.stringContaining('"/p/.env" is hidden')]);
});

test("an ordinary failure names no wall, and many lines few", () => {
  expect(wallsMet("1 test failed\nAssertionError: 1 != 2\n", [])).toEqual([]);
  const many = Array.from({ length: 5_000 }, (_, at) => `cat: ./f${at}: Permission denied`);
  expect(wallsMet(many.join("\n"), [])).toHaveLength(5);
});

test("a hidden file looks absent, so what is missing outside the project is told", () => {
  const missing = (path: string) => `cat: ${path}: No such file or directory`;
  const lines = ["/home/u/.toolrc", "~/notes", "/srv/data"].map(missing);
  const own = ["/home/u/p/src/x.ts", "src/x.ts", "/usr/lib/x", "/etc/x", "/proc/9/x"].map(missing);
  expect(wallsMet([...lines, ...own].join("\n"), ["/home/u/p"])).toEqual([
    '"/home/u/.toolrc" is hidden, or is not there at all',
    '"~/notes" is hidden, or is not there at all',
    '"/srv/data" is hidden, or is not there at all',
  ]);
});

test("the paths that a command did not get are absolute or below the home folder, and few", () => {
  const output = [
    "reading ~/.fine",
    "FileNotFoundError: [Errno 2] No such file or directory: '/home/u/.toolrc'",
    "cat: /home/u/.netrc: No such file or directory",
    "cat: own.txt: No such file or directory",
    "touch: cannot touch '~/data/x': Read-only file system",
    "bash: /home/u/.netrc: Permission denied",
  ].join("\n");
  expect(pathsMet(output)).toEqual(["/home/u/.toolrc", "/home/u/.netrc", "~/data/x"]);
  const many = Array.from({ length: 5_000 }, (_, at) => `cat: /f${at}: Permission denied`);
  expect(pathsMet(many.join("\n"))).toHaveLength(5);
});

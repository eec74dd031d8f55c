import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A command line as it is about to be started. */
export interface Start {
  argv: string[];
  cwd: string;
  env: Record<string, string | undefined>;
  /** Nobody reads what it prints. */
  unread?: boolean;
}

/** One way in which the world around a program differs from a developer's terminal. */
export interface Condition {
  name: string;
  /** Said of the program: "Under a clock at +14:00, …". */
  words: string;
  /** `same`: it must exit as ever. `orderly`: it may fail, but by its own exit code and in words. */
  demand: "same" | "orderly";
  /** The changed start, and what puts things back; a text says why it cannot be had here. */
  change: (start: Start) => { start: Start; undo?: () => void } | string;
}

const SHELL = "/bin/sh";
const FULL = "/dev/full";

/** Every condition, in the order in which they are tried. */
export const CONDITIONS: readonly Condition[] = [
  environment("tz-far", "a clock at +14:00", "same", { TZ: "Pacific/Kiritimati" }),
  environment("tz-unknown", "a time zone that does not exist", "same", { TZ: "Nowhere/Land" }),
  environment("locale-c", "the plain C locale", "same", { LANG: "C", LC_ALL: "C" }),
  environment("locale-turkish", "a Turkish locale", "same", locale("tr_TR.UTF-8")),
  environment("locale-unknown", "a locale that does not exist", "same", locale("xx_XX.UTF-8")),
  environment("columns-tiny", "a terminal of one column", "same", { COLUMNS: "1", LINES: "1" }),
  environment("term-unknown", "an unknown terminal", "same", { TERM: "no-such-terminal" }),
  shell("stdin-closed", "a closed stdin", "same", 'exec "$@" <&-'),
  shell("stdout-closed", "a closed stdout", "orderly", 'exec "$@" >&-'),
  shell("stderr-closed", "a closed stderr", "orderly", 'exec "$@" 2>&-'),
  {
    name: "stdout-unread",
    words: "a reader of its output that has gone (SIGPIPE)",
    demand: "orderly",
    change: (start) => ({ start: { ...start, unread: true } }),
  },
  {
    name: "stdout-full",
    words: "a full disk behind its stdout",
    demand: "orderly",
    change: (start) => existsSync(FULL) ? inShell(`exec "$@" >${FULL}`, start) : `no ${FULL} here`,
  },
  {
    name: "home-read-only",
    words: "a HOME that cannot be written",
    demand: "orderly",
    change: (start) => withoutWriting((HOME) => ({ ...start, env: { ...start.env, HOME } })),
  },
  environment("home-missing", "no HOME", "orderly", { HOME: undefined }),
  environment("tmp-missing", "a TMPDIR that does not exist", "orderly", {
    TMPDIR: "/nonexistent/tmp",
  }),
  environment("path-empty", "a PATH that holds nothing", "orderly", { PATH: "/nonexistent/bin" }),
  {
    name: "cwd-deleted",
    words: "a working directory that was deleted",
    demand: "orderly",
    change: (start) => {
      const cwd = mkdtempSync(join(tmpdir(), "chaos-"));
      return inShell('rmdir "$PWD" && exec "$@"', { ...start, cwd });
    },
  },
];

function environment(
  name: string,
  words: string,
  demand: Condition["demand"],
  changes: Record<string, string | undefined>,
): Condition {
  const change = (start: Start) => {
    const env = Object.entries({ ...start.env, ...changes }).filter(([, value]) =>
      value !== undefined
    );
    return { start: { ...start, env: Object.fromEntries(env) } };
  };
  return { name, words, demand, change };
}

function locale(name: string): Record<string, string> {
  return { LANG: name, LC_ALL: name, LANGUAGE: name };
}

function shell(
  name: string,
  words: string,
  demand: Condition["demand"],
  script: string,
): Condition {
  return { name, words, demand, change: (start) => inShell(script, start) };
}

/** Descriptors can be closed by a shell only; the arguments pass through it untouched. */
function inShell(script: string, start: Start): { start: Start } | string {
  if (!existsSync(SHELL)) return `no ${SHELL} here`;
  return { start: { ...start, argv: [SHELL, "-c", script, "sh", ...start.argv] } };
}

/** A folder in which nothing can be made: for root there is one only where the kernel says so. */
function withoutWriting(
  change: (folder: string) => Start,
): { start: Start; undo: () => void } | string {
  const folder = mkdtempSync(join(tmpdir(), "chaos-"));
  chmodSync(folder, 0o500);
  const undo = () => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true });
  };
  const other = [folder, "/sys"].find((one) => existsSync(one) && !takesFiles(one));
  if (other) return { start: change(other), undo };
  undo();
  return "every folder here can be written";
}

function takesFiles(folder: string): boolean {
  const probe = join(folder, ".scenario-tool");
  try {
    writeFileSync(probe, "");
    rmSync(probe);
    return true;
  } catch {
    return false;
  }
}

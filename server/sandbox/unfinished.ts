import { lstatSync } from "node:fs";
import { join } from "node:path";
import { entriesOfOwn } from "../runtime/closed_folder.ts";
import { readGitConfig } from "../runtime/git_config.ts";
import { readSmallFile } from "../runtime/small_file.ts";

/** A file of git's unfinished operations that names programs for the rest of them. */
export interface Unfinished {
  path: string;
  /** The parts that name a program. Empty if gate cannot tell them, as for a link. */
  named: readonly string[];
  /** The text without these parts; null if nothing is left of it. */
  rest: string | null;
}

/** The parts of a text that name programs; null if gate cannot tell. */
type Reader = (text: string) => Omit<Unfinished, "path"> | null;

/**
 * The files in a folder of git with which a person's `git rebase --continue` or `git cherry-pick
 * --continue` would run programs. A link counts, because the file behind it may change later.
 */
export function unfinishedIn(git: string): Unfinished[] {
  return [
    ...inFolder(join(git, "rebase-merge"), { "git-rebase-todo": commandsIn, strategy: strategyIn }),
    ...inFolder(join(git, "sequencer"), { opts: optionsIn }),
  ];
}

/** The files that name a program which they did not name before. */
export function namedSince(
  before: readonly Unfinished[],
  now: readonly Unfinished[],
): Unfinished[] {
  return now.filter(({ path, named }) => {
    const known = before.find((one) => one.path === path);
    if (!known) return true;
    return named.length === 0
      ? known.named.length > 0
      : named.some((one) => !known.named.includes(one));
  });
}

function inFolder(folder: string, readers: Record<string, Reader>): Unfinished[] {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (!stats) return [];
  if (!stats.isDirectory() || entriesOfOwn(folder) === null) return [unclear(folder)];
  return Object.entries(readers).flatMap(([name, read]) => inFile(join(folder, name), read));
}

const MOST_BYTES = 4 * 1024 * 1024;

function inFile(path: string, read: Reader): Unfinished[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [];
  if (!stats.isFile()) return [unclear(path)];
  try {
    const found = read(readSmallFile(path, MOST_BYTES));
    if (found === null) return [unclear(path)];
    return found.named.length === 0 ? [] : [{ path, ...found }];
  } catch {
    return [unclear(path)];
  }
}

function unclear(path: string): Unfinished {
  return { path, named: [], rest: null };
}

/** A line of a rebase that runs a command. */
const EXEC = /^[ \t]*(exec|x)([ \t\r]|$)/;

function commandsIn(text: string): Omit<Unfinished, "path"> {
  const lines = text.split("\n");
  return {
    named: lines.filter((line) => EXEC.test(line)),
    rest: lines.filter((line) => !EXEC.test(line)).join("\n"),
  };
}

/** Strategies that are part of git. It starts a program of any other name, also by a path. */
const STRATEGIES = /^(ort|recursive|resolve|octopus|ours|subtree|)$/;

function strategyIn(text: string): Omit<Unfinished, "path"> {
  return { named: [text.trim()].filter((name) => !STRATEGIES.test(name)), rest: null };
}

function optionsIn(text: string): Omit<Unfinished, "path"> | null {
  const entries = readGitConfig(text);
  if (entries === null) return null;
  const named = entries.filter(([key, value]) =>
    key === "options.strategy" && !STRATEGIES.test(value)
  );
  return { named: named.map(([, value]) => value), rest: null };
}

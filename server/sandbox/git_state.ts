import { readdirSync } from "node:fs";
import { join } from "node:path";
import { modulesBeside, modulesOf } from "../runtime/git_folder.ts";
import { namedSince, type Unfinished, unfinishedIn } from "./unfinished.ts";

/** The parts of one folder of git that no mount keeps, and that make git run programs later. */
export interface GitState {
  /** The folders of submodules and around them; null if there are too many to tell. */
  modules: readonly string[] | null;
  links: readonly string[];
  unfinished: readonly Unfinished[];
}

/** Something to move away after a command. */
export interface Planted {
  path: string;
  /** What takes its place: a file with this text, or a link to this target. */
  instead: { text: string } | { link: string } | null;
}

const MOST_FOLDERS = 20_000;

/** The state of a folder of git before a command. */
export function gitStateOf(git: string): GitState {
  const { looked, is_all } = modulesOf(git);
  return {
    modules: is_all ? looked : null,
    links: modulesBeside(git, looked, { folders: false }),
    unfinished: unfinishedOf(git),
  };
}

/**
 * What a command put into a folder of git that had this state, beside the parts that are found one by
 * one: folders of submodules, if it made too many, and programs of unfinished operations.
 */
export function plantedIn(git: string, before: GitState | undefined): Planted[] {
  const { modules = [], links = [], unfinished = [] } = before ?? {};
  const isMany = modules !== null && !modulesOf(git).is_all;
  const beside = modulesBeside(git, modules ?? [], { folders: isMany });
  return [
    ...beside.filter((path) => !links.includes(path)).map((path) => ({ path, instead: null })),
    ...namedSince(unfinished, unfinishedOf(git)).map(({ path, rest }) => (
      { path, instead: rest === null ? null : { text: rest } }
    )),
  ];
}

/** Also in its submodules and working trees, which have operations of their own. */
function unfinishedOf(git: string): Unfinished[] {
  const trees = namesIn(join(git, "worktrees")).map((name) => join(git, "worktrees", name));
  return [git, ...modulesOf(git, MOST_FOLDERS).folders, ...trees].flatMap(unfinishedIn);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // there is none
  }
}

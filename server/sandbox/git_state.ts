import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type FoundLink, gitLinksOf } from "../runtime/git_links.ts";
import { modulesBeside, modulesOf } from "../runtime/git_folder.ts";
import { isWithin } from "./bubblewrap.ts";
import { namedSince, type Unfinished, unfinishedIn } from "./unfinished.ts";

/** The parts of one folder of git that no mount keeps, and that make git run programs later. */
export interface GitState {
  /** The folders of submodules and around them; null if there are too many to tell. */
  modules: readonly string[] | null;
  links: readonly string[];
  unfinished: readonly Unfinished[];
  /** The links through which git reads and writes, and the lists of objects elsewhere. */
  ways_out: readonly string[];
}

/** Something to move away after a command. */
export interface Planted {
  path: string;
  /** What takes its place: a file with this text, or a link to this target. */
  instead: { text: string } | { link: string } | null;
  /** `unnamed`: its name is no text. `unseen`: a folder with too much in it to look through. */
  kind?: "unnamed" | "unseen";
}

const MOST_FOLDERS = 20_000;

/** The state of a folder of git before a command. */
export function gitStateOf(git: string): GitState {
  const { looked, is_all } = modulesOf(git);
  return {
    modules: is_all ? looked : null,
    links: modulesBeside(git, looked, { folders: false }),
    unfinished: unfinishedOf(git),
    ways_out: waysOutOf(git).map(({ key }) => key),
  };
}

/**
 * What a command put into a folder of git that had this state, beside the parts that are found one by
 * one: folders of submodules, if it made too many, programs of unfinished operations, and ways out.
 */
export function plantedIn(git: string, before: GitState | undefined): Planted[] {
  const { modules = [], links = [], unfinished = [], ways_out = [] } = before ?? {};
  const isMany = modules !== null && !modulesOf(git).is_all;
  const beside = modulesBeside(git, modules ?? [], { folders: isMany });
  return [
    ...beside.filter((path) => !links.includes(path)).map((path) => ({ path, instead: null })),
    ...namedSince(unfinished, unfinishedOf(git)).map(({ path, rest }) => (
      { path, instead: rest === null ? null : { text: rest } }
    )),
    ...waysOutOf(git).filter(({ key }) => !ways_out.includes(key)).map(({ path, rest }) => (
      { path, instead: rest === null ? null : { text: rest } }
    )),
  ];
}

/** A link or a list that leads out of git's folder. */
interface WayOut {
  path: string;
  /** Another one for each target. */
  key: string;
  /** The list without this entry; null if nothing is left of it. */
  rest: string | null;
}

/** Also in its submodules. None if there are too many folders: then a person is asked about git. */
function waysOutOf(git: string): WayOut[] {
  return [git, ...modulesOf(git, MOST_FOLDERS).folders].flatMap((folder) => {
    const found = gitLinksOf([folder]) ?? { links: [], objects: [] };
    // The folders that a list names belong to others: gate moves nothing in them.
    const links = found.links.filter(({ path }) => isWithin(path, folder));
    const objects = found.objects.filter(({ path }) => isWithin(path, folder));
    const keyOf = ({ path, target }: FoundLink) => `${path}\0${target}`;
    return [
      ...links.map((link) => ({ path: link.path, key: keyOf(link), rest: null })),
      ...objects.map((link) => {
        const others = objects.filter(({ path, line }) => path === link.path && line !== link.line);
        const rest = others.map(({ line }) => `${line}\n`).join("");
        return { path: link.path, key: keyOf(link), rest: rest === "" ? null : rest };
      }),
    ];
  });
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

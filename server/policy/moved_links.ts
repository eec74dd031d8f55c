import { isStatic, show } from "./holes.ts";
import type { ListFolder } from "./interpret/globs.ts";
import type { Unit } from "./interpret/unit.ts";
import { baseName } from "./programs/grammar.ts";
import {
  commandsOf,
  type ProvedCommand,
  type ProvedItem,
  type ProvedList,
  type Span,
} from "./prove/proved.ts";
import type { Surroundings } from "./request.ts";

/** Why a path may lead elsewhere when its command uses it, and the command that is the cause. */
export interface MovedLink {
  reason: string;
  span: Span;
}

/**
 * The first command of a proved text after which a path may lead to another file than it was judged
 * for: it moves or copies a link, which leads elsewhere from its new place, or it may make links
 * before another command uses a path. Null if there is none.
 */
export function findMovedLink(
  [outer, ...inner]: readonly [ProvedList, ...ProvedList[]],
  units: readonly Unit[],
  around: Pick<Surroundings, "list" | "resolve">,
): MovedLink | null {
  const commands = commandsOf(outer);
  const span = commands[0]?.span ?? [0, 0];
  const all = [...commands, ...inner.flatMap(commandsOf).map((one) => ({ ...one, span }))];
  const known = new Set(all.map(({ written }) => written.join("\0")));
  // Another program starts these, such as `find` with `-exec`; a task is judged by its name.
  const started = units.filter(({ spelled, task }) => !task && !known.has(show(spelled)));
  const moving = all.find((one) => movesLinks(one, around)) ??
    (started.some((unit) => movesLinks(unit, around)) ? { span } : undefined);
  if (moving) return { reason: MOVER, span: moving.span };
  const isHidden = [...inner.flatMap(commandsOf), ...started]
    .some(({ argv, folders }) => makesLinks({ argv, folders }, around));
  if (isHidden && commands.filter(usesPaths).length > 1) return { reason: MAKER, span };
  const used = [outer, ...inner].map(({ items }, at) => {
    const found = usedAfter(items, around);
    return found && at > 0 ? { ...found, span } : found;
  });
  return used.find((one) => one !== null) ?? null;
}

const MOVER = "a link that is moved or copied and may lead elsewhere then";
const MAKER = "a path beside a command that may make links";

const MOVES = /^(mv|cp|rename|install)$/;
const REMOVES = /^(rm|unlink)$/;

/** Programs that may make links: from their operands, or from what archives and repositories hold. */
const MAKES =
  /^(ln|link|tar|bsdtar|unzip|7z|7za|7zz|cpio|pax|ar|rsync|patch|stow|svn|hg|unsquashfs)$/;
const GIT_MAKES =
  /^(checkout|switch|restore|stash|merge|pull|rebase|reset|apply|am|clone|worktree|submodule|cherry-pick|revert|read-tree|checkout-index|mv)$/;

/** A program with its words, and the folders in which it may run. */
type Started = Pick<Unit, "argv" | "folders">;
type Disk = Pick<Surroundings, "list" | "resolve">;

/** Whether a command may make links, or removes them, so that something else can take their place. */
function makesLinks(command: Started, disk: Disk): boolean {
  const [program = "", ...words] = command.argv;
  const name = baseName(program);
  if (name === "git") {
    const at = words.findIndex((word, i) =>
      !word.startsWith("-") && !/^-[cC]$/.test(words[i - 1] ?? "")
    );
    return at >= 0 && GIT_MAKES.test(words[at]!);
  }
  if (REMOVES.test(name)) return hasLinkOperand(command, disk);
  return MAKES.test(name) ||
    (name === "cp" && words.some((word) => /^-[a-zA-Z]*[sl]|^--(sy|li)/.test(word)));
}

/** Programs that use no path. */
const USES_NO_PATH = /^(echo|printf|true|false|:|exit|pwd|sleep)$/;

/** The first command that may make links before or while another one uses a path. */
function usedAfter(items: readonly ProvedItem[], disk: Disk): MovedLink | null {
  let maker: ProvedCommand | undefined;
  for (const { run } of items) {
    if (run.kind === "assignment") continue;
    const stages = run.kind === "pipeline" ? run.stages : run.rounds.flatMap(commandsOf);
    const makers = stages.filter((one) => makesLinks(one, disk));
    const users = stages.filter(usesPaths);
    const cause = maker ?? (users.length > 1 ? makers[0] : undefined);
    if (cause && users.length > 0) return { reason: MAKER, span: cause.span };
    maker ??= makers[0];
  }
  return null;
}

function usesPaths({ argv, redirects }: ProvedCommand): boolean {
  return redirects.some((one) => "path" in one) || !USES_NO_PATH.test(nameOf(argv));
}

/** Whether a command moves or copies a link, or a folder with one below it. */
function movesLinks(command: Started, disk: Disk): boolean {
  return MOVES.test(nameOf(command.argv)) && hasLinkOperand(command, disk);
}

function hasLinkOperand(command: Started, { list, resolve }: Disk): boolean {
  if (!list) return false;
  return sourcesOf(command.argv).some((word) =>
    !isStatic(word) || command.folders.some((folder) => {
      const path = (word.startsWith("/") ? word : `${folder}/${word}`).replace(/\/+$/, "");
      return isLink(path, list, resolve) || hasLinks(resolve(path).real, list);
    })
  );
}

/** The operands without the target, which stays where it is. */
function sourcesOf(argv: readonly string[]): string[] {
  const [, ...words] = argv;
  const end = words.indexOf("--");
  const before = end < 0 ? words : words.slice(0, end);
  const operands = [
    ...before.filter((word) => !word.startsWith("-")),
    ...end < 0 ? [] : words.slice(end + 1),
  ];
  const isNamed = before.some((word) => /^-[a-zA-Z]*t|^--t/.test(word));
  return /^(mv|cp)$/.test(nameOf(argv)) && !isNamed ? operands.slice(0, -1) : operands;
}

function isLink(path: string, list: ListFolder, resolve: Surroundings["resolve"]): boolean {
  const at = path.lastIndexOf("/");
  const around = list(resolve(path.slice(0, at) || "/").real);
  if (around === null) return true;
  return around.some(({ name, kind }) => kind === "link" && name === path.slice(at + 1));
}

const MOST_ENTRIES = 5_000;

/** Whether a link lies below a folder, or there are too many files to tell. */
function hasLinks(folder: string, list: ListFolder): boolean {
  const queue = [folder];
  let looked = 0;
  for (const at of queue) {
    const entries = list(at);
    if (entries === null || (looked += entries.length) > MOST_ENTRIES) return true;
    for (const { name, kind } of entries) {
      if (kind === "link") return true;
      if (kind === "folder") queue.push(`${at}/${name}`);
    }
  }
  return false;
}

function nameOf([program = ""]: readonly string[]): string {
  return baseName(program);
}

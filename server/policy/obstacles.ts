import { isLoopback, isTalking, type Need, needOf } from "./programs/needs.ts";
import { baseName } from "./programs/grammar.ts";
import { isStatic, isWild, show } from "./holes.ts";
import { filesOf, type ListFolder } from "./interpret/globs.ts";
import type { CommandAnalysis, Effect, Unit } from "./interpret/unit.ts";
import { discardsWork } from "./programs/git_discards.ts";
import { isListed } from "./listed_hosts.ts";
import { isOwn } from "./own_tmp.ts";
import type { CompiledPolicy } from "./policy.ts";
import type { CommandRequest, EvaluationOptions } from "./request.ts";
import { networkIn, reachOf } from "./sandbox.ts";
import { findSecretsInGit } from "./tracked_rules.ts";

/** A command that deletes more files than this is asked about; a sandbox lets it write the project. */
const MOST_DELETED = 20;

/**
 * Why a sandbox does not hold a command, or why the command cannot work in one: one sentence each.
 * Empty if the sandbox holds whatever the command does.
 */
export function findObstacles(
  policy: CompiledPolicy,
  { cwd }: CommandRequest,
  analysed: CommandAnalysis,
  options: EvaluationOptions,
): string[] {
  if (options.is_guest) return ["it touches another project, whose files are not in the sandbox"];
  if (analysed.is_cut) return ["gate did not analyse the whole command, so a rule may forbid it"];
  const units = analysed.units.filter(({ supposed }) => !supposed);
  const { network } = policy.sandbox;
  const hosts = [...policy.sandbox.hosts, ...options.sandbox?.opened?.hosts ?? []];
  const reach = networkIn({ network, hosts }, options.sandbox?.engine ?? "none");
  const obstacles = [
    ...units.flatMap((unit) => needing(unit, analysed.goes_on, reach)),
    ...hidden(analysed, options),
    ...deleting(analysed, options),
    ...units.filter((unit) => discardsWork(unit, cwd, options.list)).map(({ text }) =>
      `"${shorten(text)}" discards work that gate may not be able to restore`
    ),
    ...units.filter(namesDeletion).map(({ argv }) =>
      `"${shorten(argv.map(show).join(" "))}" names a deletion of whole folders`
    ),
    ...units.filter(changesListed).map(({ argv }) =>
      `"${shorten(argv.map(show).join(" "))}" changes files that only its input names`
    ),
    ...droppingData(units, analysed.suspects),
    ...findSecretsInGit(policy, options),
  ];
  return [...new Set(obstacles)];
}

function needing(unit: Unit, goes_on: boolean, reach: Reached): string[] {
  const need = needOf(unit.argv);
  if (need === null || isMet(need, goes_on, reach)) return [];
  return [describe(need)];
}

function describe({ kind, about, hosts }: Need): string {
  const isOwn = (kind === "fetch" || kind === "send") && isOnlyLoopback(hosts);
  return (isOwn ? ASKS_MACHINE : DESCRIBED[kind])(show(about));
}

function isOnlyLoopback(hosts: readonly string[]): boolean {
  return hosts.length > 0 && hosts.every(isLoopback);
}

const ASKS_MACHINE = (about: string) =>
  `"${about}" calls a server of this machine, which a sandbox does not reach; ` +
  "start the server in the same command";

const DESCRIBED: Record<Need["kind"], (about: string) => string> = {
  fetch: (about) => `"${about}" needs the network`,
  send: (about) => `"${about}" acts on another machine or a server`,
  machine: (about) => `"${about}" changes this machine or talks to one of its services`,
  processes: (about) => `"${about}" is about processes outside the sandbox`,
  privilege: (about) => `"${about}" needs more rights than a sandbox gives`,
};

/** The network and the hosts that commands in the sandbox reach. */
type Reached = Pick<CompiledPolicy["sandbox"], "network" | "hosts">;

/** Whether the network of the sandbox is enough. */
function isMet({ kind, hosts }: Need, goes_on: boolean, reach: Reached): boolean {
  const reaches_all = reachOf(reach.network) === reachOf("all");
  // Another part of the same command may be the server. The sandbox then has a loopback of its own.
  if (/^(fetch|send)$/.test(kind) && !reaches_all && isOnlyLoopback(hosts)) {
    return goes_on && reach.network !== "none";
  }
  if (kind !== "fetch") return false;
  if (reaches_all) return true;
  return reach.hosts.length > 0 &&
    hosts.every((host) => isListed({ host, port: null }, reach.hosts));
}

/** The files of the home folder that the command certainly reads or runs; a sandbox hides them. */
function hidden(
  { units, effects }: CommandAnalysis,
  { roots, user_home, resolve, sandbox }: EvaluationOptions,
): string[] {
  const opened = sandbox?.opened?.readable ?? [];
  const programs = units.filter(({ supposed }) => !supposed).map(({ argv }) => argv[0] ?? "");
  const reads = effects.filter(({ op, uncertain, implied, guessed, unexplained, on_disk }) =>
    op === "read" && !uncertain && !implied && !guessed && !unexplained && !on_disk
  ).map(({ path, walked }) => walked ?? path);
  const found = [...programs, ...reads].find((path) => {
    if (!path.startsWith(`${user_home}/`) || !isStatic(path)) return false;
    const { lexical, real } = resolve(path);
    const isIn = (folder: string, one: string) => one === folder || one.startsWith(`${folder}/`);
    const isShown = roots.some((root) => isIn(root, lexical)) ||
      sandbox?.folders?.some((folder) => isIn(folder, real));
    return !isShown && !opened.includes(lexical) &&
      !TOOLS.test(lexical.slice(user_home.length + 1));
  });
  return found === undefined ? [] : [`"${found}" is in the home folder, which a sandbox hides`];
}

/** Folders of the home folder that hold tools; a sandbox shows them. */
const TOOLS =
  /^(\.cargo|\.rustup|\.nvm|\.deno|\.bun|\.npm|\.cache|\.pyenv|\.rbenv|\.asdf|\.sdkman|\.volta|\.local\/(bin|lib|share\/(uv|pipx|mise)))\//;

/** Why a command deletes too much. */
function deleting(
  { units, effects }: CommandAnalysis,
  options: EvaluationOptions,
): string[] {
  const moves = new Set(
    units.filter(({ read }) => MOVES.has(read.words.slice(0, 2).join(" "))).map(({ text }) => text),
  );
  const deleted = effects.filter(({ op, text, guessed, path, walked }) =>
    op === "delete" && !guessed && !moves.has(text) && !isOwn(walked ?? path, options)
  );
  const count = deleted.reduce((sum, effect) => sum + countOf(effect, units, options), 0);
  return count > MOST_DELETED ? [`it may delete more than ${MOST_DELETED} files`] : [];
}

const MOVES = new Set(["mv", "gmv", "git mv", "rename"]);

/** How many files a path stands for; more than the bound if the disk does not tell. */
function countOf(
  { path, walked, text }: Effect,
  units: readonly Unit[],
  { list, resolve }: EvaluationOptions,
): number {
  const recursive = units.some((unit) => unit.text === text && isRecursive(unit));
  if (!list) return isStatic(path) && !recursive ? 1 : Infinity;
  const paths = isStatic(path) ? [walked ?? path] : filesOf(path, list);
  if (paths === null || paths.length > MOST_DELETED) return Infinity;
  return paths.reduce((sum, one) => sum + countBelow(resolve(one).lexical, list), 0);
}

/** Whether it may delete what is below its operands. */
function isRecursive({ argv, read }: Unit): boolean {
  const name = baseName(argv[0] ?? "");
  if (!/^(g?rm|unlink|rmdir|git)$/.test(name) || isWild(argv.join(" "))) return true;
  return read.options.some((one) => /^(r|R|recursive)$/.test(one.name));
}

/** Files below a folder, and one for the path itself; stops counting above the bound. */
function countBelow(path: string, list: ListFolder): number {
  const queue = [path];
  let count = 1;
  while (queue.length > 0 && count <= MOST_DELETED) {
    const folder = queue.pop()!;
    const entries = list(folder);
    if (entries === null) return Infinity;
    for (const { name, kind } of entries) {
      count++;
      if (kind === "folder") queue.push(`${folder}/${name}`);
    }
  }
  return count;
}

/**
 * Whether its words, which it may run or pass on, delete whole folders. Programs that delete their
 * operands are counted.
 */
function namesDeletion({ argv: [program = "", ...args] }: Unit): boolean {
  if (baseName(program) === "rsync") {
    return args.some((word) => /^--(del|remove-source)/.test(word));
  }
  const prints = PRINTS.test(baseName(program)) || (program === "git" && isTalking(program, args));
  return !prints && DELETION.test(args.join(" "));
}

const PRINTS = /^(echo|printf|logger|test|\[|\[\[|[ef]?grep|jq|yq)$/;
const DELETION =
  /(^|[^\w-])(g?rm\s+(-\w+\s+)*-\w*[rR]\w*|rimraf|shred)([^\w]|$)|rmtree|unlink\W+glob|rm(dir)?Sync|FileUtils\.rm|remove_dir_all|deleteRecursively/;

/** Whether `xargs` or its like gives names to a program that deletes, moves or discards files. */
function changesListed({ argv: [program = "", ...args] }: Unit): boolean {
  return LISTS.test(baseName(program)) && args.some((word) => CHANGES.test(word));
}

const LISTS = /^(g?xargs|parallel|rush)$/;
const CHANGES =
  /(^|[\s/;&|(])(g?rm|unlink|rmdir|rimraf|trash|shred|srm|truncate|g?mv|dd|git|[a-z]*sh|env|eval)(\s|$)/;

/** A database in a file of the project: no commit has its rows, and gate keeps no copy of them. */
function droppingData(
  units: readonly Unit[],
  suspects: CommandAnalysis["suspects"],
): string[] {
  const database = units.find(({ argv }) => DATABASES.test(baseName(argv[0] ?? "")));
  if (database === undefined) return [];
  const texts = [
    ...units.flatMap(({ argv }) => argv.slice(1)),
    ...suspects.map(({ text }) => text),
  ];
  return texts.some((text) => DROPS.test(text))
    ? [`"${shorten(database.argv.map(show).join(" "))}" deletes data that gate cannot restore`]
    : [];
}

const DATABASES = /^(sqlite3?|sqlite3-\w+|duckdb|usql|litecli|sqlite-utils)$/;
const DROPS =
  /\b(drop\s+(table|database|schema|view|index|column|trigger)|drop-table|truncate\s|delete\s+from|alter\s+table\s+\S+\s+drop)\b/i;

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

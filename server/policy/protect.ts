import { EDITOR_SETTINGS, type ProtectedPath } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { builtin, type Finding } from "./finding.ts";
import { fold } from "./fold.ts";
import { HOLE, isNamed, show } from "./holes.ts";
import {
  compilePath,
  matchPath,
  namePath,
  PathIndex,
  type PathNames,
  type PathPattern,
} from "./path_match.ts";
import type { PathFacts, Surroundings } from "./request.ts";

/** A write to these paths may run code later or change the policy, so a person always decides. */
const NEVER_AUTOMATIC: readonly ProtectedPath[] = [
  [".git", "Git's own folder: hooks and config run code"],
  ["git~[0-9]", "Another name of Git's own folder"],
  [".gitmodules", "Submodules bring foreign code"],
  [".husky", "Git hooks"],
  [".githooks", "Git hooks"],
  [".lefthook{.yml,.yaml,}", "Git hooks"],
  ["lefthook{-local,}.{yml,yaml,toml,json}", "Git hooks"],
  [".lefthook{-local,}.{yml,yaml,toml,json}", "Git hooks"],
  [".pre-commit-config.yaml", "Git hooks"],
  ["gate.config.json", "The gate's own policy"],
  [".gate", "The gate's own data"],
  [".idea", EDITOR_SETTINGS],
  [".devcontainer", "Container settings run code"],
  [".devcontainer.json", "Container settings run code"],
  ...new Map(HOSTS.flatMap(({ protected_paths }) => protected_paths)),
  [".envrc", "Run by direnv on entering the folder"],
  ["{.,}{mise,rtx}{.*,}.toml", "Run by mise on entering the folder"],
  [".{mise,rtx}", "Run by mise on entering the folder"],
  ["**/.config/mise", "Run by mise on entering the folder"],
  [".{autoenv{,.zsh,.leave},rvmrc}", "Run by the shell on entering the folder"],
  [".{exrc,nvimrc,nvim.lua,lvimrc}", EDITOR_SETTINGS],
  [".dir-locals{,-2}.el", EDITOR_SETTINGS],
  ["**/.hg/hgrc{,-not-shared}", "Mercurial's settings run code"],
  ["**/.jj/repo/config.toml", "Jujutsu's settings run code"],
];

/** Whether a file or folder of this name is never written without a person. */
export function isProtectedName(name: string): boolean {
  const names = [namePath(`/${name}`, ["/"], "/")];
  return guardedPlaces.candidates(names).some(({ compiled, denies }) =>
    !denies && matchPath(compiled, names[0]!, false) === "yes"
  );
}

/** Dependencies bring such names along, and no host or person opens their folders. */
const DEPENDENCIES = /\/(node_modules|\.venv|venv|site-packages|vendor|target)\//;

/** Whether the path lies in a folder of dependencies. */
export function isInDependencies(path: string): boolean {
  return DEPENDENCIES.test(path);
}

/** Whether an absolute path is, or is below, a place that is never written without a person. */
export function isProtectedPath(path: string): boolean {
  return protectWrite([namePath(path, ["/"], "/")]).length > 0;
}

/** Folders from which services and logins start programs. */
const STARTUP: readonly ProtectedPath[] = [
  ["~/.config/systemd", "The service unit"],
  ["~/Library/LaunchAgents", "The service unit"],
  ["/etc/systemd", "The service unit"],
  ["/Library/LaunchDaemons", "The service unit"],
  ["~/.local/state/gate", "The terminals' witness of the audit log"],
  ["~/Library/Application Support/gate", "The terminals' witness of the audit log"],
];

interface Guarded {
  pattern: string;
  why: string;
  compiled: PathPattern;
  /** No person may allow it either. */
  denies: boolean;
}

const guarded = (denies: boolean) => ([pattern, why]: ProtectedPath): Guarded => (
  { pattern, why, compiled: compilePath(pattern), denies }
);
const guardedPlaces = new PathIndex([
  ...STARTUP.map(guarded(true)),
  ...NEVER_AUTOMATIC.map(guarded(false)),
]);

/** Denies every access to the gate's own data, reads included. */
export function protectData(names: readonly PathNames[], gateHome: string): Finding[] {
  const home = dataOf(gateHome);
  const hit = names.find((one) =>
    matchPath(home, one, true) !== "no" || matchPath(HOME_GATE, one, true) !== "no"
  );
  if (!hit) return [];
  const reason = `The gate's own data ("${inProject(hit)}") is off limits`;
  return [builtin("deny", "self-protection", "GATE_HOME/**", reason)];
}

const HOME_GATE = compilePath("~/.gate");

const compiledData = { home: "", pattern: HOME_GATE };

/** The compiled pattern of the gate's data folder, cached because a gate has one home. */
function dataOf(gateHome: string): PathPattern {
  if (compiledData.home !== gateHome) {
    Object.assign(compiledData, { home: gateHome, pattern: compilePath(escapeGlob(gateHome)) });
  }
  return compiledData.pattern;
}

/** Asks about, or denies, writes to protected paths, whatever the policy allows. */
export function protectWrite(names: readonly PathNames[]): Finding[] {
  const places = guardedPlaces.candidates(names);
  if (places.length === 0) return [];
  const found: Finding[] = [];
  // Unknown names from a program or a glob count as ordinary files.
  const vague = names.some((one) => !isNamed(one.path)) || names.every(isGlobBelow);
  for (const { pattern, why, compiled, denies } of places) {
    const hits = names.map((one) => matchPath(compiled, one, true));
    if (denies) {
      if (hits.some((one) => one !== "no")) {
        const reason = `${why} ("${inProject(names.at(-1)!)}") is off limits`;
        found.push(builtin("deny", "self-protection", pattern, reason));
      }
    } else if (hits.includes("yes") || (!vague && hits.includes("maybe"))) {
      const reason = `${why} ("${inProject(names.at(-1)!)}"): a person must approve it`;
      found.push(builtin("ask", "never-automatic", pattern, reason));
    }
  }
  return found;
}

/** Folders above protected paths that are ordinary themselves: a folder of that name brings such a path. */
const guardedFolders = new PathIndex(
  NEVER_AUTOMATIC.flatMap(([pattern, why]) => {
    const names = /^[~/]/.test(pattern) ? [] : pattern.split("/");
    const above = names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join("/"));
    return above.filter((one) => /[^*/]/.test(one)).map((one) => guarded(false)([one, why]));
  }),
);

/** Asks about a folder that comes to this place as a whole, where files in it would be protected. */
export function protectBrought(
  { lexical, real }: PathFacts,
  { roots, user_home }: Surroundings,
): Finding[] {
  const names = [...new Set([lexical, real])].map((path) => namePath(path, roots, user_home));
  // A file that comes into such a folder has a name of its own.
  const found = guardedFolders.candidates(names).find(({ pattern, compiled }) =>
    names.some((one) =>
      lastOf(one.path) === lastOf(pattern) && matchPath(compiled, one, true) === "yes"
    )
  );
  if (!found) return [];
  const place = inProject(names.at(-1)!);
  const reason = `A folder that comes to "${place}" may hold protected files (${found.why}): ` +
    "a person must approve it";
  return [builtin("ask", "never-automatic", found.pattern, reason)];
}

function lastOf(path: string): string {
  return fold(path.slice(path.lastIndexOf("/") + 1));
}

/** The path as a person reads it: without the folder of its project, unless that is the whole disk. */
function inProject({ path, roots: [below] }: PathNames): string {
  const inside = below?.plain.join("/") ?? "";
  return show(inside === "" || path === `/${inside}` ? path : inside);
}

/** Asks about writes to a folder that is git's own under another name, or that becomes one. */
export function protectGit(path: string, { git_folder }: Surroundings): Finding[] {
  const isHead = OF_GIT.test(path);
  if (!isHead && !git_folder) return [];
  // A path is looked up as far as it is known.
  const hole = path.search(HOLE);
  const shown = hole < 0 ? path : path.slice(0, Math.max(0, path.lastIndexOf("/", hole)));
  const reason = isHead
    ? "A file of this name makes its folder one of git's own, whose hooks and config run code"
    : git_folder?.(shown)
    ? "Git takes hooks, programs or settings from here, and they run code"
    : null;
  if (reason === null) return [];
  const pattern = isHead ? HEAD : ".git";
  return [builtin("ask", "never-automatic", pattern, `${reason}: a person must approve it`)];
}

/** The pattern of the rule about files named `HEAD`. As a word it is nearly always git's revision. */
export const HEAD = "HEAD";

/** Without a file of this name, git takes no folder for its own. */
const OF_GIT = /\/HEAD$/i;

/** Whether the path is a glob below a folder of the root, such as `dist/*`, but not `dist/.g*`. */
function isGlobBelow({ roots }: PathNames): boolean {
  return roots.length > 0 &&
    roots.every(({ plain }) =>
      plain.length > 1 && !GLOB.test(plain[0]!) && !plain.some((name) => DOTTED_GLOB.test(name))
    );
}

const GLOB = /[\uFDD4-\uFDD6]/;
const DOTTED_GLOB = /^\..*[\uFDD4-\uFDD6]/s;

function escapeGlob(path: string): string {
  return path.replace(/[\\*?[\]{}]/g, "\\$&");
}

import { type Dirent, lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { LRUCache } from "lru-cache";
import { isWithin } from "./bubblewrap.ts";

/** Names of files that shells and other programs of a person load without being told to. */
const NAMES = new RegExp(
  "^(" + [
    // Shells, also where a project is a person's home or its copy.
    "\\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|inputrc)",
    "\\.(zshrc|zshenv|zprofile|zlogin|zlogout|gitconfig|ripgreprc)",
    "\\.autoenv(\\.zsh|\\.leave)?|\\.rvmrc|\\.?mise(\\.[\\w.-]+)?\\.toml|\\.?rtx\\.toml",
    // Editors.
    "\\.(exrc|vimrc|gvimrc|nvimrc|nvim\\.lua|lvimrc)|\\.dir-locals(-2)?\\.el|.*\\.code-workspace",
    // Agents beside those that gate registers.
    "\\.?crush\\.json|\\.aider\\.conf\\.yml",
    // Interpreters and debuggers.
    "\\.(Rprofile|Renviron|RData|octaverc|gnuplot|gdbinit|lldbinit|ghci|ocamlinit|pryrc|irbrc|pdbrc|pdbrc\\.py)",
  ].join("|") + ")$",
);

/** Folders of such files, and files that only their folder makes so. */
const PLACES =
  /\/(\.github\/hooks|\.(continue|kiro|factory|trae|roo|kilocode|amazonq|junie|augment|openhands|amp|pi)|\.helix|\.fleet|\.agents|\.mise|\.config\/mise|mise\/config\.toml|\.(sl|pijul)\/config|\.hg\/hgrc(-not-shared)?|\.jj\/repo\/config\.toml)$/;

/** Whether a person's program loads this file, or what is in this folder, by itself. */
export function isLoaded(path: string): boolean {
  return NAMES.test(basename(path)) || PLACES.test(path);
}

/** The folders of the home from which programs start or load settings, down to their own folders. */
const OF_HOME = ["", ".config", ".config/systemd/user", ".config/git", ".local/bin", "bin", ".ssh"];
const MOST_ENTRIES = 5_000;
/** No sandboxed command changes the home folder, so it is looked up again after this time. */
const KEPT_MS = 5_000;
const KEPT = new LRUCache<string, string[]>({ max: 4, ttl: KEPT_MS });

/**
 * The files and folders in these folders that links in the home lead to, each step of them: a person's
 * settings and programs that live in a project, such as one of dotfiles.
 */
export function linkedFromHome(home: string, tops: readonly string[]): string[] {
  let steps = KEPT.get(home);
  // Only what was read anew is kept: the next commands must not prolong it.
  if (steps === undefined) KEPT.set(home, steps = stepsOf(home));
  return steps.filter((path) => tops.some((top) => path !== top && isWithin(path, top)));
}

function stepsOf(home: string): string[] {
  const config = entriesOf(join(home, ".config")).filter((entry) => entry.isDirectory())
    .map(({ name }) => `.config/${name}`);
  const folders = [...new Set([...OF_HOME, ...config])].map((name) => join(home, name));
  const links = folders.flatMap((folder) =>
    entriesOf(folder).filter((entry) => entry.isSymbolicLink()).map(({ name }) =>
      join(folder, name)
    )
  );
  return [...new Set(links.slice(0, MOST_ENTRIES).flatMap(stepsFrom))];
}

const MOST_STEPS = 40;

/** The real places at which a link and those behind it lead on. */
function stepsFrom(link: string): string[] {
  const steps: string[] = [];
  try {
    for (let at = link; steps.length < MOST_STEPS;) {
      const next = resolve(dirname(at), readlinkSync(at));
      at = join(realpathSync(dirname(next)), basename(next));
      steps.push(at);
      if (!lstatSync(at).isSymbolicLink()) break;
    }
  } catch {
    // It leads nowhere, or beyond what this user may read.
  }
  return steps;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // there is none
  }
}

import { isStatic } from "../holes.ts";
import type { ListFolder } from "../interpret/globs.ts";
import { absolutePath } from "../interpret/state.ts";
import type { Unit } from "../interpret/unit.ts";
import { has } from "./options.ts";

/**
 * Whether a git command discards what no commit has, or what only a name leads to: changed files,
 * stashes, branches, tags, the log of references.
 */
export function discardsWork({ argv, read }: Unit, cwd: string, list?: ListFolder): boolean {
  if (read.words[0] !== "git") return false;
  const [subcommand, next = ""] = [read.words[1], read.words[2] ?? read.operands[0]];
  const raw = (...words: string[]) => words.some((word) => argv.includes(word));
  switch (subcommand) {
    case "reset":
      return has(read, "hard", "merge", "keep") || read.wild;
    case "clean":
      return !has(read, "dry-run");
    case "restore":
      return !raw("--staged", "-S") || raw("--worktree", "-W");
    case "checkout":
      return has(read, "force", "ours", "theirs", "B", "pathspec-from-file") || raw("--") ||
        (!has(read, "b", "orphan") && namesFiles(read.operands, cwd, list));
    case "switch":
      return raw("-f", "--force", "--discard-changes", "-C", "--force-create");
    case "branch":
      // Without force git deletes a branch only if another one has all of its commits.
      return has(read, "D", "M", "C", "force") || (has(read, "delete") && read.wild);
    case "tag":
      return has(read, "delete", "force");
    case "stash":
      return /^(drop|clear|pop)$/.test(next);
    case "worktree":
      return /^(remove|prune|move)$/.test(next);
    case "reflog":
      return /^(expire|delete|drop)$/.test(next);
    case "checkout-index":
    case "mv":
      return has(read, "force") || raw("-f") || read.wild;
    case "read-tree":
      return raw("--reset", "-u", "--empty") || read.wild;
    case "apply":
      return has(read, "reverse") || raw("-R", "--reverse");
    case "merge":
    case "rebase":
    case "cherry-pick":
    case "revert":
    case "am":
      return raw("--abort", "--skip", "--quit");
    case "fast-import":
    case "update-ref":
    case "filter-branch":
    case "filter-repo":
    case "prune":
    case "replace":
    case "symbolic-ref":
      return true;
    case "gc":
      return raw("--prune", "--prune=now", "--aggressive");
    case "rm":
      return has(read, "force");
    case "submodule":
      return /^(deinit|update)$/.test(next);
    default:
      return false;
  }
}

/** Whether the operands of `git checkout` may be files: a branch is one word, and no file has its name. */
function namesFiles(operands: readonly string[], cwd: string, list?: ListFolder): boolean {
  const [first] = operands;
  if (first === undefined) return false;
  if (operands.length > 1 || !isStatic(first) || first === ".") return true;
  const path = absolutePath(first, cwd);
  const at = path.lastIndexOf("/");
  const entries = list?.(path.slice(0, at) || "/");
  if (entries === undefined || entries === null) return /[./]/.test(first);
  return entries.some(({ name }) => name === path.slice(at + 1));
}

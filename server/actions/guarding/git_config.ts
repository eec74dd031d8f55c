import { readGitConfig } from "../../runtime/git_config.ts";

/** Entries with which git runs nothing and reaches no other place. */
const HARMLESS: [key: RegExp, value: RegExp][] = [
  [/^branch\..+\.(merge|vscode-merge-base|github-pr-owner-number|gh-merge-base|base)$/, /^/],
  [/^branch\..+\.(rebase|description)$/, /^/],
  [/^branch\..+\.remote$/, /^(?!-)(?!.*::)[\w./-]+$/],
  [/^core\.(repositoryformatversion|filemode|bare|logallrefupdates)$/, /^/],
  [/^core\.(ignorecase|precomposeunicode|symlinks)$/, /^/],
  [/^remote\..+\.gh-resolved$/, /^/],
  [/^lfs\.repositoryformatversion$/, /^/],
];

const OF_REMOTES =
  /^(remote\..+\.(url|pushurl|fetch|tagopt|promisor|partialclonefilter)|submodule\..+\.(url|active|branch|update)|submodule\.active)$/;
const REMOTE_COMMANDS = /^(remote|clone|submodule|init|fetch|pull|push)$/;
const OF_WORKTREES = /^(extensions\.worktreeconfig|core\.sparsecheckout(cone)?|index\.sparse)$/;
const OF_LFS = /^(filter\.lfs\.(clean|smudge|process|required)|lfs\..+)$/;

/** Whether a visible git command of the text explains this entry, or the entry does no harm. */
function isExplained(key: string, value: string, commands: readonly string[][]): boolean {
  if (HARMLESS.some(([keys, values]) => keys.test(key) && values.test(value))) return true;
  return commands.some((argv) => {
    const [name = "", ...args] = gitCommand(argv) ?? [];
    if (name === "config") return namesKey(args, key);
    if (REMOTE_COMMANDS.test(name) && OF_REMOTES.test(key)) return !/^!|::/.test(value);
    if (/^(worktree|sparse-checkout)$/.test(name) && OF_WORKTREES.test(key)) return true;
    return name === "lfs" && OF_LFS.test(key) && /^(git-lfs\b|git lfs\b|true$|\d+$)/.test(value);
  });
}

/** The subcommand of git with its arguments; null for another program. */
export function gitCommand([program = "", ...args]: string[]): string[] | null {
  if (!/^(.*\/)?git$/.test(program)) return null;
  let at = 0;
  while (args[at]?.startsWith("-")) {
    at += /^(-C|-c|--git-dir|--work-tree|--namespace|--config-env)$/.test(args[at]!) ? 2 : 1;
  }
  return args.slice(at);
}

/** Whether the arguments of `git config` name the key, or the section that is renamed or removed. */
function namesKey(args: readonly string[], key: string): boolean {
  const words = args.filter((arg) => !arg.startsWith("-"));
  const isSection = args.some((arg) => /^--(remove|rename)-section$/.test(arg));
  return words.some((word) => {
    const wanted = word.toLowerCase();
    const have = key.toLowerCase();
    return have === wanted || (isSection && have.startsWith(`${wanted}.`));
  });
}

/** Whether the difference of two git configs comes from visible commands only, or does no harm. */
export function isExplainedChange(
  before: string,
  after: string,
  commands: readonly string[][],
): boolean {
  const [was, is] = [readGitConfig(before), readGitConfig(after)];
  if (!was || !is) return false;
  const text = ([key, value]: [string, string]) => `${key}\0${value}`;
  const [old, now] = [new Set(was.map(text)), new Set(is.map(text))];
  const changed = [
    ...is.filter((one) => !old.has(text(one))),
    ...was.filter((one) => !now.has(text(one))),
  ];
  return changed.every(([key, value]) => isExplained(key, value, commands));
}

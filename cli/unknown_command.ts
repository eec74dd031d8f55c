import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { COMMANDS } from "./commands.ts";
import { CliError, EXIT } from "./errors.ts";
import type { Tree } from "./io.ts";

/** Throws if gate lacks the word, but people use it or it is a command of a group. */
export async function refuseOther(word: string | undefined, tree: Tree): Promise<void> {
  if (word === undefined || word === "help") return;
  if (COMMANDS.some(({ name }) => name === word)) return;
  const isOption = word.startsWith("-");
  const meant = OTHER_WORDS.get(word) ?? (isOption ? undefined : await ofGroups(word, tree));
  if (meant === undefined) return;
  throw new CliError(`unknown ${isOption ? "option" : "command"} '${word}'`, {
    next: meant,
    exit: EXIT.usage,
  });
}

/** The commands of that name in all groups; undefined if there are none, or too many to choose. */
async function ofGroups(word: string, tree: Tree): Promise<string | undefined> {
  const { commands } = await tree(() => true);
  const found = commands.filter((group) => has(group, word));
  if (found.length === 0 || found.length > MOST) return undefined;
  return found.map((group) => `gate ${group.name()} ${word}`).join(", or ");
}

function has(group: CommandUnknownOpts, word: string): boolean {
  return group.commands.some((command) => command.name() === word);
}

const MOST = 3;

/** Words that people type, each with the command that does it. */
const OTHER_WORDS = new Map(Object.entries({
  version: "gate --version",
  "-v": "gate --version, or gate -V",
  "-version": "gate --version, or gate -V",
  setup: "gate init, or gate global-setup",
  install: "gate global-setup",
  uninstall: "gate global-setup --remove",
  list: "gate pending, or gate log",
  ls: "gate pending, or gate log",
  queue: "gate pending",
  history: "gate log",
  ps: "gate agents",
  undo: "gate rollback <id>",
  revert: "gate rollback <id>",
  deny: "gate reject <id> --reason '…'",
  login: "gate dashboard",
  open: "gate dashboard",
  ui: "gate dashboard",
  passphrase: "gate proof set, or gate proof change",
  password: "gate proof set, or gate proof change",
  rules: "gate policy explain, or gate policy templates",
}));

import type { CommandUnknownOpts, Option } from "@commander-js/extra-typings";

/** One way to go on with a word. */
export interface Candidate {
  value: string;
  description: string;
}

/** What may stand where the cursor is. */
export interface Completion {
  candidates: Candidate[];
  /** Names of files fit as well. */
  files: boolean;
}

/** What can be known of a value only when it is asked for: ids of what waits, of projects, …  */
export type Ask = (name: string) => Promise<Candidate[] | null>;

/**
 * What fits after `words`, as far as `current` has been typed; commands and options by the tree,
 * values by their choices, else by `ask`.
 */
export async function complete(
  program: CommandUnknownOpts,
  { words, current }: { words: readonly string[]; current: string },
  ask: Ask,
): Promise<Completion> {
  const at = follow(program, words);
  const [flag, typed] = splitValue(current);
  const named = typed === null ? null : findOption(at.command, flag);
  const option = at.option ?? named;
  if (option) {
    const found = await valuesOf(option.argChoices, `--${option.name()}`, ask);
    const prefix = at.option ? "" : `${flag}=`;
    const values = found.candidates.map((one) => ({ ...one, value: prefix + one.value }));
    return { ...found, candidates: startingWith(values, current) };
  }
  if (current.startsWith("-") && !at.isLiteral) {
    return { candidates: startingWith(optionsOf(at.command), current), files: false };
  }
  const found = at.isLiteral || at.count > 0 || at.command.commands.length === 0
    ? await argumentsOf(at, ask)
    : { candidates: commandsOf(at.command), files: false };
  return { ...found, candidates: startingWith(found.candidates, current) };
}

/** Where a command line has come to. */
interface Place {
  command: CommandUnknownOpts;
  /** The command's names, without that of the program. */
  path: string[];
  /** The option that waits for its value. */
  option: Option | null;
  /** How many arguments there are already. */
  count: number;
  /** After `--` nothing is an option any more. */
  isLiteral: boolean;
}

function follow(program: CommandUnknownOpts, words: readonly string[]): Place {
  const at: Place = { command: program, path: [], option: null, count: 0, isLiteral: false };
  for (const word of words) {
    if (at.option) at.option = null;
    else if (word === "--") at.isLiteral = true;
    else if (word.startsWith("-") && !at.isLiteral) {
      const option = findOption(at.command, word);
      if (option && (option.required || option.optional)) at.option = option;
    } else if (word !== "help" || at.count > 0 || at.command.commands.length === 0) {
      const child = at.count === 0 ? at.command.commands.find((one) => one.name() === word) : null;
      if (child) Object.assign(at, { command: child, path: [...at.path, word] });
      else at.count++;
    }
  }
  return at;
}

/** `--name=value` in its two parts; of anything else the second is null. */
function splitValue(word: string): [flag: string, value: string | null] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? [word, null] : [word.slice(0, at), word.slice(at + 1)];
}

function findOption(command: CommandUnknownOpts, flag: string): Option | null {
  return command.options.find(({ short, long }) => flag === short || flag === long) ?? null;
}

function commandsOf(command: CommandUnknownOpts): Candidate[] {
  return command.createHelp().visibleCommands(command).map((child) => ({
    value: child.name(),
    description: child.summary() || child.description(),
  }));
}

function optionsOf(command: CommandUnknownOpts): Candidate[] {
  return command.createHelp().visibleOptions(command).flatMap(({ long, description }) =>
    long ? [{ value: long, description }] : []
  );
}

function argumentsOf(at: Place, ask: Ask): Promise<Completion> {
  const { registeredArguments } = at.command;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[at.count] ?? (last?.variadic ? last : undefined);
  if (!argument) return Promise.resolve({ candidates: [], files: false });
  return valuesOf(argument.argChoices, [...at.path, argument.name()].join(" "), ask);
}

async function valuesOf(
  choices: readonly string[] | undefined,
  name: string,
  ask: Ask,
): Promise<Completion> {
  if (choices) {
    return { candidates: choices.map((value) => ({ value, description: "" })), files: false };
  }
  const known = await ask(name);
  return { candidates: known ?? [], files: known === null };
}

function startingWith(candidates: Candidate[], typed: string): Candidate[] {
  return candidates.filter(({ value }) => value.startsWith(typed));
}

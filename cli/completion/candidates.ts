import type { CommandUnknownOpts, Option } from "@commander-js/extra-typings";

/** One possible completion of a word. */
export interface Candidate {
  value: string;
  description: string;
}

/** The possible completions at the cursor. */
export interface Completion {
  candidates: Candidate[];
  /** Whether file names are possible too. */
  files: boolean;
}

/** Lists the values of an option or argument, such as ids; null if it does not know the name. */
export type ListValues = (name: string) => Promise<Candidate[] | null>;

/**
 * The completions after `words` that begin with `current`. Commands and options come from the tree,
 * values from their choices or from `listValues`.
 */
export async function complete(
  program: CommandUnknownOpts,
  { words, current }: { words: readonly string[]; current: string },
  listValues: ListValues,
): Promise<Completion> {
  const at = follow(program, words);
  const [flag, typed] = splitValue(current);
  const named = typed === null ? null : findOption(at.command, flag);
  const option = at.option ?? named;
  if (option) {
    const found = await valuesOf(option.argChoices, `--${option.name()}`, listValues);
    const prefix = at.option ? "" : `${flag}=`;
    const values = found.candidates.map((one) => ({ ...one, value: prefix + one.value }));
    return { ...found, candidates: startingWith(values, current) };
  }
  if (current.startsWith("-") && !at.isLiteral) {
    return { candidates: startingWith(optionsOf(at.command), current), files: false };
  }
  const found = at.isLiteral || at.count > 0 || at.command.commands.length === 0
    ? await argumentsOf(at, listValues)
    : { candidates: commandsOf(at.command), files: false };
  return { ...found, candidates: startingWith(found.candidates, current) };
}

/** The position that a command line has reached in the tree. */
interface Place {
  command: CommandUnknownOpts;
  /** The command's names, without that of the program. */
  path: string[];
  /** The option whose value comes next. */
  option: Option | null;
  /** The number of arguments before the cursor. */
  count: number;
  /** Whether `--` came before: no later word is an option. */
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

/** Splits `--name=value`; the value is null for any other word. */
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

function argumentsOf(at: Place, listValues: ListValues): Promise<Completion> {
  const { registeredArguments } = at.command;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[at.count] ?? (last?.variadic ? last : undefined);
  if (!argument) return Promise.resolve({ candidates: [], files: false });
  return valuesOf(argument.argChoices, [...at.path, argument.name()].join(" "), listValues);
}

async function valuesOf(
  choices: readonly string[] | undefined,
  name: string,
  listValues: ListValues,
): Promise<Completion> {
  if (choices) {
    return { candidates: choices.map((value) => ({ value, description: "" })), files: false };
  }
  const known = await listValues(name);
  return { candidates: known ?? [], files: known === null };
}

function startingWith(candidates: Candidate[], typed: string): Candidate[] {
  return candidates.filter(({ value }) => value.startsWith(typed));
}

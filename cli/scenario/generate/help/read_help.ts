/** One option as a help text shows it. */
export interface CliOption {
  /** `-o` and `--output`, the longest last. */
  flags: string[];
  value: "none" | "optional" | "required";
  /** The name of the value: `FILE`, `n`; empty without a value. */
  placeholder: string;
  /** The allowed values, if the text lists them. */
  choices: string[];
}

/** The content of one help text. */
export interface CliHelp {
  options: CliOption[];
  commands: string[];
  /** The names of the required arguments. */
  required: string[];
}

/** The most lines that are read. */
const LINES = 2_000;
const OPTION =
  /^\s{0,12}(-{1,2}[A-Za-z0-9?#][^\s,|]*(?:(?:,\s*|\s?\|\s?|\s\/\s|\s)\S+)*?)(?:\s{2,}(\S.*)|\s*)$/;
/** Two bare words behind an option: a sentence that begins with the option's name. */
const SENTENCE = /(?:\s[A-Za-z][\w'’,-]*){2}/;
const COMMAND = /^\s{1,8}([a-z][\w:-]*)(?:[|,]\s?[\w-]+)*((?:\s[[<(]\S+)*)(?:\s{2,}(\S.*)|\s*)$/;
const HEADING = /^\s{0,4}([A-Za-z][\w '()/,-]*):\s*$/;
/** Sections whose rows only look like commands. */
const NO_COMMANDS =
  /option|argument|flag|example|usage|environment|variable|documentation|repository|exit|^see also/i;

/** Parses the help text of a program: commander, argparse, clap, cobra, GNU and similar ones. */
export function readHelp(text: string): CliHelp {
  const lines = plainLines(text);
  const usages = usageLines(lines);
  const options: CliOption[] = [];
  const commands: string[] = [];
  let section = "";
  lines.forEach((line, index) => {
    const heading = HEADING.exec(line)?.[1];
    if (heading !== undefined) return void (section = heading);
    if (/^\S/.test(line) && !line.startsWith("-")) section = sectionOf(line, section);
    const option = optionOf(line, continuation(lines, index));
    if (option) return void options.push(option);
    commands.push(...commandsOf(line, section, usages));
  });
  return {
    options: unique(options, ({ flags }) => flags.at(-1)!),
    commands: unique([...commands, ...bracedCommands(lines)], (name) => name)
      .filter((name) => name !== "help"),
    required: requiredOf(usages),
  };
}

/** A line of prose ends a section, except in git and apt, where it may begin one. */
function sectionOf(line: string, section: string): string {
  return /commands?\b/i.test(line) ? "commands" : /^[a-z]/.test(line) ? line : section;
}

function plainLines(text: string): string[] {
  // deno-lint-ignore no-control-regex
  const plain = text.replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, "").replaceAll(/.\u0008/g, "");
  return plain.split(/\r?\n/).slice(0, LINES).map((line) => line.slice(0, 400).trimEnd());
}

/** The usage lines, with indented continuation lines joined. */
function usageLines(lines: string[]): string[] {
  const at = lines.findIndex((line) => /^\s*usage:?/i.test(line));
  if (at === -1) return [];
  const first = lines[at]!.replace(/^\s*usage:?\s*/i, "");
  const rest: string[] = [];
  for (const line of lines.slice(at + 1)) {
    if (!/^\s{2,}\S/.test(line) || /^\s+-\S/.test(line)) break;
    rest.push(line.trim());
  }
  if (first === "") return rest;
  return rest.some((line) => /^or:?\s/i.test(line))
    ? [first, ...rest]
    : [[first, ...rest].join(" ")];
}

function optionOf(line: string, more: string): CliOption | null {
  const match = OPTION.exec(line);
  if (!match) return null;
  const [, spec = "", description = ""] = match;
  if (SENTENCE.test(spec)) return null;
  const flags = [...spec.matchAll(/(?:^|[\s,|/])(-{1,2}[A-Za-z0-9?#][\w-]*)/g)].map(([, flag]) =>
    flag!
  );
  if (flags.length === 0) return null;
  const given = /(\[[=\s]?|[=\s]|:)(<[^>]+>|\[[^\]]+\]|\{[^}]+\}|\.\.\.|[A-Z][\w.|-]*)\.*\]?\s*$/
    .exec(spec);
  const placeholder = given?.[2]?.replaceAll(/[<>[\]{}]/g, "").replace(/^\.\.\.$/, "value") ?? "";
  const optional = given !== null && (given[1]!.startsWith("[") || given[2]!.startsWith("["));
  return {
    flags: flags.sort((a, b) => a.length - b.length),
    value: given === null ? "none" : optional ? "optional" : "required",
    placeholder,
    choices: given === null ? [] : choicesOf(given[2]!, `${description} ${more}`),
  };
}

/** The lines below an option that continue its description. */
function continuation(lines: string[], at: number): string {
  const rest = lines.slice(at + 1, at + 8);
  const end = rest.findIndex((line) => !/^\s{10,}\S/.test(line) || OPTION.test(line));
  return rest.slice(0, end === -1 ? rest.length : end).map((line) => line.trim()).join(" ");
}

/** Reads `{a,b}`, `(choices: "a", "b")`, `[possible values: a, b]`, `(a | b)` or a bare `a, b, c`. */
function choicesOf(value: string, description: string): string[] {
  const braced = /^\{([^}]+)\}$/.exec(value)?.[1];
  const told = /(?:choices|possible values|one of):?\s*([^)\]]+)/i.exec(description)?.[1] ??
    /\(([\w-]+(?:\s\|\s[\w-]+)+)/.exec(description)?.[1];
  const bare = /^[a-z0-9-]+(?:, [a-z0-9-]+){1,9}$/.test(description.trim())
    ? description
    : undefined;
  const list = (braced ?? told ?? bare ?? "").split(/[,|]/)
    .map((one) => one.trim().replaceAll(/^["']|["']$/g, ""));
  return list.length > 1 && list.every((one) => /^[\w.-]+$/.test(one)) ? list : [];
}

function commandsOf(line: string, section: string, usages: string[]): string[] {
  const takes = usages.some((usage) => /\b(sub)?commands?\b/i.test(usage));
  const told = /commands?\b/i.test(section);
  if (!told && (!takes || NO_COMMANDS.test(section) || section === "")) return [];
  if (/^\s{2,}[a-z][\w-]*(,\s[a-z][\w-]*)+,?$/.test(line)) {
    return line.trim().split(/,\s*/).filter(Boolean);
  }
  const match = COMMAND.exec(line);
  return match && (match[3] !== undefined || told) ? [match[1]!] : [];
}

/** argparse lists its commands as `{add,remove} ...` among the arguments. */
function bracedCommands(lines: string[]): string[] {
  const row = lines.find((line) => /^\s{1,8}\{[\w,-]+\}( \.\.\.)?(\s|$)/.test(line));
  return row ? row.trim().slice(1, row.trim().indexOf("}")).split(",") : [];
}

/** The `<file>` and `FILE` outside all brackets, if there is a single usage line. */
function requiredOf(usages: string[]): string[] {
  if (usages.length !== 1) return [];
  let bare = usages[0]!;
  for (let before = ""; before !== bare;) {
    before = bare;
    bare = bare.replaceAll(/\[[^[\]]*\]|\{[^{}]*\}|\([^()]*\)/g, " ");
  }
  return [...bare.matchAll(/<([^<>\s]+)>|(?<![\w-])([A-Z][A-Z_]{2,})(?![\w-])/g)]
    .map(([, angled, upper]) => (angled ?? upper)!)
    .filter((name) => !/^(sub)?commands?$|^options?$|^args$/i.test(name));
}

function unique<T>(list: T[], keyOf: (item: T) => string): T[] {
  return [...new Map(list.map((item) => [keyOf(item), item])).values()];
}

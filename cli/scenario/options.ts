import {
  Command,
  InvalidArgumentError,
  Option,
  type OptionValues,
} from "@commander-js/extra-typings";
import { CONDITIONS } from "./execute/chaos.ts";
import { STRATEGIES } from "./execute/race/strategy.ts";
import { DEPTHS } from "./generate/family.ts";
import { TRIES, type Try } from "./generate/tries.ts";
import { FORMATS } from "./report/render.ts";
import { REPORT_FORMATS } from "./report/reports.ts";
import { Priority } from "./schema.ts";

/** `scenario-tool run` with all of its options, without an action. */
export function runCommand() {
  const plain = new Command("run")
    .description("Print scenarios; with --target, execute and judge them.")
    .option("--target <url>", "execute against this base URL, or cli for command lines");
  return driverOptions(judgeOptions(sendOptions(sourceOptions(plain))))
    .addHelpText("after", CONFIGURED);
}

/** The options of `run` as commander parses them. */
export type RunOptions = ReturnType<ReturnType<typeof runCommand>["opts"]>;

const CONFIGURED = `
Set any option in scenario-tool.json ({"target": "…", "workers": 8}) or in the environment
(SCENARIO_TARGET, SCENARIO_WORKERS). A flag wins over the environment, the environment over the file.
`;

function sourceOptions<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  const spec =
    "generate from OpenAPI 3, Swagger 2, HAR, Postman or Markdown: a file or the target's URL";
  return command
    .option("--scenarios <file>", "read scenarios from this file (repeatable)", list, [])
    .option("--spec <file>", spec, list, [])
    .option(
      "--from-help <program>",
      "generate from this program's --help (repeatable)",
      repeated,
      [],
    )
    .option(
      "--depth <depth>",
      `choose how much to generate: ${DEPTHS.join(", ")}`,
      oneOf(DEPTHS),
      "normal" as const,
    )
    .option("--budget <n>", "generate at most this many scenarios", whole(1, 100_000))
    .option(
      "--try <list>",
      `also try what takes long or may lock a login: ${TRIES.join(", ")}`,
      tries,
      [] as Try[],
    )
    .option("--filter <regex>", "keep scenarios whose id or title matches")
    .option("--priority <list>", "keep these priorities", priorities, [])
    .option(
      "--area <list>",
      "keep scenarios with these values of confidence_area, the part of the product",
      list,
      [],
    );
}

function sendOptions<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .addOption(
      new Option("--timeout <time>", "limit each request or command: 500ms, 10s, 2m")
        .argParser(duration).default(10_000, "10s"),
    )
    .option("--workers <n>", "send this many reading requests in parallel", whole(1, 64), 4)
    .option("--rate-limit <n>", "send at most this many requests a second", whole(1, 100_000))
    .option("-H, --header <header>", 'add "Name: value" to every request', header, {})
    .option(
      "--secret <name[=value]>",
      "fill in {{name}} and never show it (repeatable)",
      repeated,
      [],
    )
    .option(
      "--race-strategy <name>",
      `send the requests of a race at one moment by ${STRATEGIES.join(", ")}`,
      oneOf(STRATEGIES),
      "auto" as const,
    )
    .option(
      "--race-rounds <n>",
      "repeat races with {{uniq}}, a text that is new in each round",
      whole(1, 100),
    )
    .addOption(
      new Option("--chaos [conditions]", "rerun commands without HOME, stdin, a known TZ …")
        .preset("all").argParser(conditions(CONDITIONS.map(({ name }) => name))),
    )
    .option("--insecure", "accept any TLS certificate")
    .option("--only-requests", "send requests only: run no program, write no file")
    .option("--allow-destructive", "send changing requests to other machines too")
    .option(
      "--wait-for-target <time>",
      "wait up to this long for the target to start: 500ms, 10s, 2m",
      duration,
    );
}

const REPORTS = `write a report: ${REPORT_FORMATS.join(", ")}=<file>, or github (repeatable)`;

function judgeOptions<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .option("--output <format>", `print ${FORMATS.join(", ")}`, parseOutput, "text" as const)
    .option("--verbose", "print passed and inconclusive scenarios too")
    .option("--report <format=file>", REPORTS, repeated, [])
    .option(
      "--repro <folder>",
      "write files that repeat each failure: run, curl, bytes, race script",
    )
    .option("--bail", "stop after the first failure")
    .option("--confirm <n>", "repeat each failure this often and report the rate", whole(0, 100), 0)
    .option("--baseline <file>", "accept the failures listed in this file")
    .option(
      "--baseline-update",
      "add today's failures to the baseline for 90 days",
    );
}

function driverOptions<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  const kinds = "run scenarios without exec by openai:<model>, anthropic:<model>, " +
    "command:<path>, replay:<file>, or playbook: the requests that the scenario itself lists";
  const nobody: Identities = new Map();
  return command
    .option("--driver <driver>", kinds, driver)
    .option("--as <name=header>", "log in as this identity (repeatable)", identity, nobody)
    .option(
      "--value <name=value>",
      "use this value for parameters and fields of that name",
      value,
      new Map() as Values,
    )
    .option(
      "--as-value <identity.name=value>",
      "use this value in the requests of one identity (repeatable)",
      ownValue,
      new Map() as ReadonlyMap<string, Values>,
    )
    .option("--as-documented", "send the documented values only: learn none before the run")
    .option("--record <file>", "record the driver's moves for replay:<file>")
    .option("--max-turns <n>", "limit a driver's turns for one scenario", whole(1, 100), 12)
    .option("--max-requests <n>", "limit a driver's requests for one scenario", whole(1, 1_000), 30)
    .option(
      "--max-tokens <n>",
      "limit a driver's tokens for the run",
      whole(1, 1_000_000_000),
      500_000,
    );
}

/** Parses `-H "Name: value"` and adds it to the headers given before. */
export function header(text: string, given: Record<string, string>): Record<string, string> {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(text);
  if (!match) throw new InvalidArgumentError('It must look like "Name: value".');
  return { ...given, [match[1]!]: match[2]! };
}

/** The headers that log each named identity in. */
export type Identities = Map<string, Record<string, string>>;

/** Parses `--as "alice=Authorization: Bearer …"`. Several headers for one name add up. */
export function identity(text: string, given: Identities): Identities {
  const match = /^([A-Za-z][\w-]{0,31})=(.*)$/s.exec(text);
  if (!match) throw new InvalidArgumentError('It must look like "alice=Authorization: Bearer …".');
  const [, name = "", value = ""] = match;
  return new Map([...given, [name, header(value, given.get(name) ?? {})]]);
}

/** Checks the name of a driver before anything is sent. */
function driver(text: string): string {
  if (/^(?:playbook|(?:openai|anthropic|command|replay):.+)$/s.test(text)) return text;
  throw new InvalidArgumentError(
    "It must be openai:<model>, anthropic:<model>, command:<path>, replay:<file> or playbook.",
  );
}

/** The values of `--value` by their names. */
export type Values = ReadonlyMap<string, string>;

/** Parses `--value order_id=7`. */
export function value(text: string, given: Values): Values {
  const match = /^([^=\s]{1,100})=(.+)$/s.exec(text);
  if (!match) throw new InvalidArgumentError('It must look like "name=value".');
  return new Map([...given, [match[1]!, match[2]!]]);
}

/** Parses `--as-value alice.account=7`. */
export function ownValue(
  text: string,
  given: ReadonlyMap<string, Values>,
): ReadonlyMap<string, Values> {
  const match = /^([A-Za-z][\w-]{0,31})\.(.*)$/s.exec(text);
  if (!match) throw new InvalidArgumentError('It must look like "alice.name=value".');
  const [, name = "", rest = ""] = match;
  return new Map([...given, [name, value(rest, given.get(name) ?? new Map())]]);
}

/** Parses a repeatable option whose value may be a list with commas. */
export function list(text: string, given: string[]): string[] {
  return [...given, ...text.split(",").map((part) => part.trim()).filter((part) => part !== "")];
}

/** Parses a repeatable option whose value may contain commas. */
export function repeated(text: string, given: string[]): string[] {
  return [...given, text];
}

/** Parses `--try login-limit,slow-sql`. */
export function tries(text: string, given: Try[]): Try[] {
  const known = list(text, []).map((name) => TRIES.find((one) => one === name));
  if (known.includes(undefined)) throw new InvalidArgumentError(`Choose from ${TRIES.join(", ")}.`);
  return [...given, ...known.map((one) => one!)];
}

/** Parses `--priority critical,high`. */
export function priorities(text: string, given: Priority[]): Priority[] {
  const known = list(text, []).map((name) => Priority.safeParse(name));
  if (known.some(({ success }) => !success)) {
    throw new InvalidArgumentError(`Choose from ${Priority.options.join(", ")}.`);
  }
  return [...given, ...known.map(({ data }) => data!)];
}

/** Parses `--chaos`: `tz-far,home-missing` chooses these two, `-cwd-deleted` all but that one. */
export function conditions(known: readonly string[]): (text: string) => string[] {
  return (text) => {
    const given = list(text, []).filter((name) => name !== "all");
    const left = given.filter((name) => name.startsWith("-")).map((name) => name.slice(1));
    const named = given.filter((name) => !name.startsWith("-"));
    const strange = [...named, ...left].find((name) => !known.includes(name));
    if (strange !== undefined) {
      throw new InvalidArgumentError(`There is no "${strange}": choose from ${known.join(", ")}.`);
    }
    return (named.length > 0 ? named : [...known]).filter((name) => !left.includes(name));
  };
}

/** Parses a whole number in a range. */
export function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

/** Parses `10s`, `500ms`, `2m` or plain milliseconds. Returns milliseconds. */
export function duration(text: string): number {
  const match = /^(\d{1,9})(ms|s|m)?$/.exec(text);
  // Below 100, seconds are more likely meant than milliseconds.
  if (match && match[2] === undefined && Number(match[1]) < 100) {
    throw new InvalidArgumentError(`It needs a unit: ${match[1]}s or ${match[1]}ms.`);
  }
  const unit = { ms: 1, s: 1_000, m: 60_000 }[match?.[2] ?? "ms"]!;
  const ms = Number(match?.[1]) * unit;
  if (!match || ms < 1 || ms > 3_600_000) {
    throw new InvalidArgumentError("It must look like 500ms, 10s or 2m, and be at most an hour.");
  }
  return ms;
}

const oneOfFormats = oneOf(FORMATS);

/** Parses a format of `--output`. Programs read the other formats, so they go to a file. */
function parseOutput(text: string): typeof FORMATS[number] {
  if (!REPORT_FORMATS.includes(text) || FORMATS.some((name) => name === text)) {
    return oneOfFormats(text);
  }
  throw new InvalidArgumentError(`Write it to a file: --report ${text}=<file>.`);
}

/** Parses one of the known words. */
export function oneOf<T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new InvalidArgumentError(`Choose ${choices.join(", ")}.`);
    return found;
  };
}

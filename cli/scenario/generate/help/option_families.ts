import type { Depth, Draft } from "../family.ts";
import type { CliPage } from "./explore.ts";
import type { CliOption } from "./read_help.ts";
import { type CliFamily, type CliStory, nameOf, ORDERLY, REFUSED } from "./story.ts";

/** At most this many options of one command get a scenario. */
const OPTIONS = 25;

/** The families about the options of a command. */
export const OPTION_FAMILIES: readonly CliFamily[] = [
  each(
    "cli_option_known",
    "normal",
    ({ flags, value }) =>
      value === "required" || isSpecial(flags) ? null : {
        title: (name, flag) => `Naming ${flag} beside --help of ${name}`,
        who: "Somebody looks up an option that is already on the line.",
        words: (flag) => [flag, "--help"],
        chaos: "The option comes before the question for help",
        expected: "The help is shown and nothing is done.",
        fails: "A documented option is not known to the program",
        priority: "low",
        exec: { expected_exit: 0 },
      },
  ),
  each(
    "cli_value_missing",
    "normal",
    ({ flags, value }) =>
      value !== "required" || isSpecial(flags) ? null : {
        title: (name, flag) => `Ending ${name} with ${flag} and nothing behind it`,
        who: "A script passes a value that turned out to be empty.",
        words: (flag) => [flag],
        chaos: "The option's value is missing",
        expected: "The program names the option and ends with an error code.",
        fails: "The next word, or nothing, is taken for the value",
        priority: "medium",
        exec: REFUSED,
      },
  ),
  each("cli_value_bad", "normal", (option) =>
    !takesSet(option) ? null : {
      title: (name, flag) => `Giving ${flag} of ${name} a value it does not know`,
      who: "Somebody copies a command line from the documentation of another version.",
      words: (flag) => withValue(flag, "no-such-value"),
      chaos: "The value is none of those that are allowed",
      expected: "The program names the value and the allowed ones, and ends with an error code.",
      fails: "The value is ignored and a default is used instead",
      priority: "medium",
      exec: REFUSED,
    }),
  each(
    "cli_option_twice",
    "normal",
    (option) =>
      option.value !== "required" || isSpecial(option.flags) ? null : {
        title: (name, flag) => `Giving ${flag} of ${name} twice, with two values`,
        who: "An alias brings one value, and the user adds another.",
        words: (flag) => {
          const [one = "1", other = "2"] = option.choices;
          return [...withValue(flag, one), ...withValue(flag, other), "--help"];
        },
        chaos: "The two values contradict each other",
        expected: "The last one counts, or the program refuses; it never crashes.",
        fails: "A list is handed to code that wants one value",
        priority: "low",
        exec: ORDERLY,
      },
  ),
  {
    name: "cli_options_conflict",
    depth: "normal",
    tell: (page) =>
      conflicts(page).map(([one, other]) => ({
        title: `Giving ${nameOf(page)} both ${one} and ${other}`,
        who: "An alias brings one option, and the user adds its opposite.",
        words: [one, other, "--help"],
        chaos: ["The two options contradict each other"],
        expected: "The last one counts, or the program refuses; it never crashes.",
        failures: ["Both are obeyed in part"],
        priority: "low",
        exec: ORDERLY,
      })),
  },
];

interface OptionStory {
  title: (name: string, flag: string) => string;
  who: string;
  words: (flag: string) => string[];
  chaos: string;
  expected: string;
  fails: string;
  priority: Draft["priority"];
  exec: CliStory["exec"];
}

/** A family with one scenario for each option that fits. */
function each(
  name: string,
  depth: Depth,
  tell: (option: CliOption) => OptionStory | null,
): CliFamily {
  return {
    name,
    depth,
    tell: (page) =>
      page.options.slice(0, OPTIONS).flatMap((option) => {
        const story = tell(option);
        if (!story) return [];
        const flag = option.flags.at(-1)!;
        const { title, words, chaos, fails, ...rest } = story;
        return [{
          ...rest,
          title: title(nameOf(page), flag),
          words: words(flag),
          chaos: [chaos],
          failures: [fails, "A stack trace is shown"],
        }];
      }),
  };
}

const OPPOSITES = [["--quiet", "--verbose"], ["--silent", "--verbose"], ["--json", "--text"]];

/** Pairs of opposite options: `--x` and `--no-x`, `--quiet` and `--verbose`. */
function conflicts({ options }: CliPage): [string, string][] {
  const flags = new Set(
    options.filter(({ value }) => value === "none").flatMap((one) => one.flags),
  );
  const denied = [...flags].filter((flag) =>
    flag.startsWith("--no-") && flags.has(`--${flag.slice(5)}`)
  ).map((flag): [string, string] => [`--${flag.slice(5)}`, flag]);
  const known = OPPOSITES.filter((pair) => pair.every((flag) => flags.has(flag)));
  return [...denied, ...known as [string, string][]].slice(0, 5);
}

/** True for an option with a wrong value: it takes one of a list, or a number. */
function takesSet({ flags, value, placeholder, choices }: CliOption): boolean {
  const number = /^(n|num|number|int|integer|count|port|size|ms|seconds|bytes)$/i;
  return value === "required" && !isSpecial(flags) &&
    (choices.length > 0 || number.test(placeholder));
}

function withValue(flag: string, value: string): string[] {
  return flag.startsWith("--") ? [`${flag}=${value}`] : [flag, value];
}

function isSpecial(flags: string[]): boolean {
  return flags.some((flag) => /^(--help|-h|-\?|--version|-V)$/.test(flag));
}

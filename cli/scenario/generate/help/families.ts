import type { CliPage } from "./explore.ts";
import { OPTION_FAMILIES } from "./option_families.ts";
import { type CliFamily, nameOf, ORDERLY, REFUSED } from "./story.ts";

const HUGE = "x".repeat(50_000);

/** Every family of command lines. None of them lets the program do its real work. */
export const CLI_FAMILIES: readonly CliFamily[] = [
  {
    name: "cli_help",
    depth: "light",
    tell: (page) => [{
      title: `Asking ${nameOf(page)} for help`,
      who: "Somebody uses the program for the first time.",
      words: [flagOf(page, /^--?h(elp)?$/) ?? "--help"],
      chaos: ["None: this is the case everything else is compared with"],
      expected: "The help is printed and the program ends with 0.",
      failures: ["The help ends with an error code, so that scripts take it for a failure"],
      priority: "medium",
      is_edge_case: false,
      exec: { expected_exit: 0 },
    }],
  },
  {
    name: "cli_version",
    depth: "light",
    tell: (page) => {
      const flag = flagOf(page, /^(--version|-V)$/);
      return flag === null ? [] : [{
        title: `Asking ${nameOf(page)} for its version`,
        who: "A script looks which version is installed.",
        words: [flag],
        chaos: ["There is no terminal and no input"],
        expected: "The version is printed and the program ends with 0.",
        failures: ["The program starts its work instead"],
        priority: "medium",
        exec: { expected_exit: 0 },
      }];
    },
  },
  {
    name: "cli_unknown_option",
    depth: "light",
    tell: (page) => [{
      title: `Mistyping an option of ${nameOf(page)}`,
      who: "Somebody types an option from memory, and remembers another program's.",
      words: ["--no-such-option-at-all"],
      chaos: ["The option does not exist"],
      expected: "The program does nothing, names the option and ends with an error code.",
      failures: ["The option is ignored and the work is done without it", "A stack trace is shown"],
      priority: "high",
      exec: REFUSED,
    }],
  },
  {
    name: "cli_unknown_command",
    depth: "light",
    tell: (page) =>
      page.commands.length === 0 ? [] : [{
        title: `Mistyping a command of ${nameOf(page)}`,
        who: "Somebody types a command that another version of the program has.",
        words: ["no-such-command-at-all"],
        chaos: ["The command does not exist"],
        expected: "The program names the command and ends with an error code.",
        failures: ["The program does something else and reports success"],
        priority: "high",
        exec: REFUSED,
      }],
  },
  {
    name: "cli_argument_missing",
    depth: "light",
    tell: (page) =>
      page.required.length === 0 ? [] : [{
        title: `Calling ${nameOf(page)} without its <${page.required[0]}>`,
        who: "A script calls the program with a variable that was never set.",
        words: [],
        chaos: ["What must be given is missing"],
        expected: `The program names <${page.required[0]}> and ends with an error code.`,
        failures: ["The program waits for ever", "undefined is taken for a name"],
        priority: "high",
        exec: REFUSED,
      }],
  },
  ...OPTION_FAMILIES,
  {
    name: "cli_double_dash",
    depth: "aggressive",
    tell: (page) => [{
      title: `Giving ${nameOf(page)} a name that begins with dashes`,
      who: "Somebody has a file that is called --help, and says so with --.",
      words: ["--", "--no-such-option-at-all"],
      chaos: ["After -- nothing is an option any more"],
      expected: "The word is taken for a name, or refused; the program does not crash.",
      failures: ["The word is taken for an option all the same"],
      priority: "low",
      exec: ORDERLY,
    }],
  },
  argument("cli_argument_empty", "", "an empty text", "A variable is set, and empty."),
  argument("cli_argument_huge", HUGE, "50,000 characters", "A glob or a paste went wrong."),
  argument(
    "cli_argument_unicode",
    "\u202egnp.\u{1f600}\ud83d",
    "half an emoji and a mark that turns the text round",
    "A file name comes from somebody else's computer.",
  ),
];

/** An argument at its limits, for commands that need one and do nothing without a good one. */
function argument(name: string, value: string, words: string, who: string): CliFamily {
  return {
    name,
    depth: "aggressive",
    tell: (page) =>
      page.required.length === 0 ? [] : [{
        title: `Giving ${nameOf(page)} ${words} as <${page.required[0]}>`,
        who,
        words: page.required.map(() => value),
        chaos: [`<${page.required[0]}> is ${words}`],
        expected: "The program refuses it in one sentence, or copes with it; it does not crash.",
        failures: ["A stack trace is shown", "The message fills the whole screen"],
        priority: "medium",
        exec: ORDERLY,
      }],
  };
}

function flagOf({ options }: CliPage, name: RegExp): string | null {
  return options.flatMap(({ flags }) => flags).findLast((flag) => name.test(flag)) ?? null;
}

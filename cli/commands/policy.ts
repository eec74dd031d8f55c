import { Argument, Command, type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Client, ProblemError, unwrap } from "../../server/client.ts";
import { MACHINE_ID } from "../../server/constants.ts";
import { TEMPLATES } from "../../server/policy/templates.ts";
import { PolicyTestInput, type PolicyTestResult } from "../../server/policy/schema.ts";
import { scopedClient } from "../daemon/connect.ts";
import { openReview } from "../proof/prover.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { examples } from "../options.ts";
import { readLines, readNamed } from "../terminal/input.ts";
import type { Io } from "../io.ts";
import { print, printJson } from "../terminal/output.ts";
import { chooseRules } from "../project.ts";
import { TEMPLATE_NAMES } from "../init/choices.ts";
import { addReplay } from "../policy/replay.ts";
import { addSuggest } from "../policy/suggest.ts";
import { describeTemplates } from "../policy/templates_text.ts";
import { describe, explain, type Owner, riskCard, scoreCard } from "../policy/text.ts";
import { visibleJson } from "../terminal/visible.ts";

/** `gate policy`: tests and explains the rules; only `suggest --apply` changes anything. */
export function createCommand(io: Io) {
  const policy = new Command("policy").description(
    "Test, explain or suggest rules, or replay recorded actions.",
  )
    .addHelpText("after", examples("gate policy test --command 'rm -rf build'"));
  policy.command("test")
    .description("Evaluate a command, path or tool: exit 0 for allow, 1 for ask or deny.")
    .option("--command <line>", "the command to evaluate")
    .option("--path <path>", "the path to evaluate")
    .option("--action <kind>", "write, read, delete, command or a tool's name")
    .option("--project <id>", "the project (default: that of this folder, or the machine's rules)")
    .option("--no-sandbox", "judge as if this machine had no sandbox")
    .option("--stdin", "read one JSON object per line from standard input")
    .option("--jsonl", "read and print one JSON object per line")
    .option("--exit-code", "exit 0 for allow, 3 for ask and 4 for deny; 1 is then only an error")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ project, stdin, jsonl, json, sandbox, exitCode, ...question }) => {
      const exits = exitCode ? EXACT : EXIT_CODES;
      const bare = sandbox ? {} : { sandbox };
      if (stdin || jsonl) {
        const { ask } = await openQuestions(io, project);
        return await testLines(io, (one) => ask({ ...one, ...bare }), exits);
      }
      const asked = checkQuestion({ ...question, ...bare });
      const { result, owner } = await askHere(io, project, asked);
      if (json) printJson(io, result);
      else print(io, describe(io, result, owner));
      leave(exits[result.effect]);
    });
  addExplain(policy, io);
  addReplay(policy, io);
  addSuggest(policy, io);
  addBench(policy, io);
  addTemplates(policy, io);
  return policy;
}

type ExitCodes = Record<PolicyTestResult["effect"], number>;

const EXIT_CODES: ExitCodes = { allow: EXIT.ok, ask: EXIT.failed, deny: EXIT.failed };
/** One for each effect; 2 belongs to the scenario tool. */
const EXACT: ExitCodes = { allow: EXIT.ok, ask: 3, deny: 4 };

/** Ends the command with this exit code. @throws Exit unless it is 0 */
function leave(exit: number): void {
  if (exit !== EXIT.ok) throw new Exit(exit);
}

function addExplain(policy: CommandUnknownOpts, io: Io): void {
  policy.command("explain")
    .description("Explain a decision: the winning rule, its list, and the effects of the command.")
    .option("--command <line>", "the command to evaluate")
    .option("--path <path>", "the path to evaluate")
    .option("--action <kind>", "write, read, delete, command or a tool's name")
    .option("--project <id>", "the project (default: that of this folder, or the machine's rules)")
    .option("--no-sandbox", "judge as if this machine had no sandbox")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExample:\n  gate policy explain --command 'cd /tmp && sudo rm -fr ~/x'\n",
    )
    .action(async ({ project, json, sandbox, ...question }) => {
      const asked = checkQuestion({ ...question, ...sandbox ? {} : { sandbox } }, "explain");
      const { result, owner } = await askHere(io, project, asked);
      if (json) printJson(io, result);
      else print(io, explain(io, asked.command ?? null, result, owner));
    });
}

function addBench(policy: CommandUnknownOpts, io: Io): void {
  policy.command("bench")
    .description("Score the decisions on a corpus: stopped commands, false alarms, questions.")
    .argument(
      "[file]",
      "one JSON object per line: command, and expect: stop (ask or deny), allow or any",
    )
    .addOption(
      new Option("--template <name>", "the template that evaluates every command")
        .choices(TEMPLATE_NAMES),
    )
    .option(
      "--policies <file>",
      "a JSON object of policies by name; a line names its own in policy",
    )
    .option("--risk", "score the levels of risk on a table instead")
    .option("--json", "print JSON")
    .addHelpText("after", BENCH_HELP)
    .action(async (file, { template, policies, risk, json }) => {
      if (risk) return await benchRisk(io, file, { template, policies, json });
      const { readPolicies, scoreCorpus } = await import("../../server/policy/bench.ts");
      const corpus = await readCorpus(io, file);
      const card = scoreCorpus(corpus, {
        ...(template ? { template } : {}),
        ...(policies ? { policies: readPolicies(await readNamed(io, policies, BENCH_NEXT)) } : {}),
      });
      if (json) return printJson(io, card);
      print(io, scoreCard(card));
    });
}

/** Scores the levels of risk on a table of labelled actions. */
async function benchRisk(
  io: Io,
  file: string | undefined,
  { template, policies, json }: { template?: string; policies?: string; json?: true },
): Promise<void> {
  if (template !== undefined || policies !== undefined) {
    const message = "Cannot score the risk: a table of risk names no policy";
    throw new CliError(message, {
      next: "gate policy bench --risk my-table.jsonl",
      exit: EXIT.usage,
    });
  }
  const { scoreRisk } = await import("../../server/risk/bench.ts");
  const card = scoreRisk(await readCorpus(io, file, RISK_TABLE));
  if (json) return printJson(io, card);
  print(io, riskCard(card));
}

function addTemplates(policy: CommandUnknownOpts, io: Io): void {
  policy.command("templates")
    .description("Explain the templates: what each allows, asks and denies, why, and how often.")
    .addArgument(
      new Argument("[name]", "the template (default: all of them)").choices(TEMPLATE_NAMES),
    )
    .option("--json", "print JSON")
    .addHelpText("after", TEMPLATES_HELP)
    .action((name, { json }) => {
      const shown = TEMPLATES.filter((template) => name === undefined || template.name === name);
      if (json) printJson(io, shown);
      else print(io, describeTemplates(io, shown));
    });
}

const TEMPLATES_HELP = `
gate init starts a project from one of them. The questions are counted on commands that gate's own
tests name harmless: builds, containers, package managers, git and text tools. Your agents run
other commands; gate policy bench counts a file of yours.

Examples:
  gate policy templates balanced
  gate policy bench my-corpus.jsonl --template balanced
`;

type Ask = (question: PolicyTestInput) => Promise<PolicyTestResult>;

/** Asks as a person does: a relative path or command is meant in the working directory. */
async function askHere(
  io: Io,
  named: string | undefined,
  question: PolicyTestInput,
): Promise<{ result: PolicyTestResult; owner: Owner }> {
  const { ask, owner } = await openQuestions(io, named);
  if (owner === "machine" && named === undefined) {
    io.stderr.write("This folder belongs to no project, so the machine's rules decide.\n");
  }
  const result = await ask(named === undefined ? { cwd: io.cwd, ...question } : question);
  return { result, owner };
}

async function openQuestions(
  io: Io,
  named: string | undefined,
): Promise<{ ask: Ask; owner: Owner }> {
  const connection = await openReview(io);
  const id = await chooseRules(io, connection.client, named);
  const client: Client = scopedClient(connection, id);
  return {
    ask: (question) => unwrap(client.api.policy.test.$post({ json: question })).catch(refused),
    owner: id === MACHINE_ID ? "machine" : "project",
  };
}

/** An invalid question is wrong usage, because exit 1 means ask or deny. */
function refused(error: unknown): never {
  if (!(error instanceof ProblemError) || error.problem.code !== "invalid") throw error;
  throw new CliError(error.message, { next: "gate policy test --help", exit: EXIT.usage });
}

const NO_TEST = /^Cannot test the policy: /;

/** Prints one answer per line, in the order of the questions; the highest of their codes is the exit. */
async function testLines(io: Io, ask: Ask, exits: ExitCodes): Promise<void> {
  let highest: number = EXIT.ok;
  let number = 0;
  for await (const line of readLines(io.stdin)) {
    number++;
    if (line.trim() === "") continue;
    const result = await ask(parseLine(line, number)).catch((error) => inLine(error, number));
    highest = Math.max(highest, exits[result.effect]);
    print(io, visibleJson(result, 0));
  }
  leave(highest);
}

/** Adds the line number to the error of a question. */
function inLine(error: unknown, number: number): never {
  if (!(error instanceof CliError)) throw error;
  const { next, exit } = error;
  const options = next === null ? { exit } : { next, exit };
  throw new CliError(
    `Cannot evaluate line ${number}: ${error.message.replace(NO_TEST, "")}`,
    options,
  );
}

function parseLine(line: string, number: number): PolicyTestInput {
  try {
    return checkQuestion(PolicyTestInput.parse(JSON.parse(line)));
  } catch (cause) {
    const why = cause instanceof CliError
      ? cause.message.replace(NO_TEST, "")
      : cause instanceof SyntaxError
      ? "it is not JSON"
      : "it needs command, or path with action";
    throw new CliError(`Cannot read line ${number}: ${why}`, { exit: EXIT.usage });
  }
}

function checkQuestion(
  question: PolicyTestInput,
  verb: "test" | "explain" = "test",
): PolicyTestInput {
  if (question.command !== undefined || question.path !== undefined || question.action) {
    return question;
  }
  throw new CliError(
    `Cannot ${verb} the policy: no command or path is given; use --command or --path`,
    {
      next: `gate policy ${verb} --command 'rm -rf build'`,
      exit: EXIT.usage,
    },
  );
}

/** The corpus in gate's own sources. */
const OWN_CORPUS = "test/corpora/commands.jsonl";
/** The labelled levels of risk in gate's own sources. */
const RISK_TABLE = "test/corpora/risk.jsonl";

async function readCorpus(
  io: Io,
  file: string | undefined,
  own = OWN_CORPUS,
): Promise<string> {
  if (file !== undefined) return await readNamed(io, file, BENCH_NEXT);
  if (existsSync(resolve(io.cwd, own))) return await readNamed(io, own);
  if (own === RISK_TABLE) {
    const message = "Nothing to score: give a table, a file of lines such as " +
      '{"command": "rm -rf ~", "level": "critical"}';
    throw new CliError(message, {
      next: "gate policy bench --risk my-table.jsonl",
      exit: EXIT.usage,
    });
  }
  const message = "Nothing to score: give a corpus, a file of lines such as " +
    '{"command": "rm -rf ~", "expect": "stop"} and {"command": "ls", "expect": "allow"}';
  throw new CliError(message, { next: BENCH_NEXT, exit: EXIT.usage });
}

const BENCH_NEXT = "gate policy bench my-corpus.jsonl";

const BENCH_HELP = `
In gate's own sources the default is their corpus. A line may name its policy: a template, or a
name in the file of --policies. --risk reads a table of actions with their level: a line has
command, or tool with path and content, or tool with input; before is the old text, session what is
known about the session, level low, medium, high or critical. {ROOT} and {HOME} stand for the
project and the user's home.

Examples:
  gate policy bench my-corpus.jsonl --template balanced --json
  gate policy bench --risk my-table.jsonl
  echo '{"command": "rm -rf ~", "expect": "stop"}' > my.jsonl && gate policy bench my.jsonl
`;

const HELP = `
Exit codes:
                       allow  ask  deny  error  wrong usage
  without an option    0      1    1     1      64
  with --exit-code     0      3    4     1      64
  Of several lines, the strictest effect decides.

Examples:
  gate policy test --command 'git push --force'
  gate policy test --path .env --action write --json
  printf '%s\\n' '{"command":"ls"}' '{"path":"a.ts","action":"write"}' |
    gate policy test --stdin --jsonl
  gate policy test --command 'npm publish' --exit-code; echo $?   0 allow, 3 ask, 4 deny
`;

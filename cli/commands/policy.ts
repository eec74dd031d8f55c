import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Client, ProblemError, unwrap } from "../../server/client.ts";
import { PolicyTestInput, type PolicyTestResult } from "../../server/policy/schema.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { examples } from "../options.ts";
import { readLines, readNamed } from "../terminal/input.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson } from "../terminal/output.ts";
import { chooseProject } from "../project.ts";
import { addReplay } from "../policy/replay.ts";
import { addSuggest } from "../policy/suggest.ts";
import { explain, scoreCard } from "../policy/text.ts";
import { visibleJson, visibleLine } from "../terminal/visible.ts";

/** `gate policy`: what the rules say, without doing anything. */
export function createCommand(io: Io) {
  const policy = new Command("policy").description("The rules in force.")
    .addHelpText("after", examples("gate policy test --command 'rm -rf build'"));
  policy.command("test")
    .description("Ask what policy would say: exit 0 for allow, 1 for ask or deny.")
    .option("--command <line>", "of this command")
    .option("--path <path>", "of this path")
    .option("--action <kind>", "write, read, delete, command or a tool's name")
    .option("--project <id>", "of this project; otherwise of the one of this folder")
    .option("--stdin", "read one question a line from standard input")
    .option("--jsonl", "questions and answers are one JSON object a line")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ project, stdin, jsonl, json, ...question }) => {
      if (stdin || jsonl) return await testLines(io, await openQuestions(io, project));
      const asked = checkQuestion(question);
      const result = await (await openQuestions(io, project))(asked);
      if (json) printJson(io, result);
      else print(io, describe(io, result));
      if (result.effect !== "allow") throw new Exit(EXIT.failed);
    });
  addExplain(policy, io);
  addReplay(policy, io);
  addSuggest(policy, io);
  addBench(policy, io);
  return policy;
}

function addExplain(policy: CommandUnknownOpts, io: Io): void {
  policy.command("explain")
    .description("Say why: the winning rule, where it stands, and what the command would do.")
    .option("--command <line>", "of this command")
    .option("--path <path>", "of this path")
    .option("--action <kind>", "write, read, delete, command or a tool's name")
    .option("--project <id>", "of this project; otherwise of the one of this folder")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExample:\n  gate policy explain --command 'cd /tmp && sudo rm -fr ~/x'\n",
    )
    .action(async ({ project, json, ...question }) => {
      const asked = checkQuestion(question);
      const result = await (await openQuestions(io, project))(asked);
      if (json) printJson(io, result);
      else print(io, explain(io, asked.command ?? null, result));
    });
}

function addBench(policy: CommandUnknownOpts, io: Io): void {
  policy.command("bench")
    .description("Score the command analysis over a corpus: what it stops, what it stops wrongly.")
    .argument("[file]", "one JSON object a line, with command and expect: stop, allow or any")
    .option("--json", "print JSON")
    .addHelpText("after", BENCH_HELP)
    .action(async (file, { json }) => {
      const { scoreCorpus } = await import("../../server/policy/bench.ts");
      const card = scoreCorpus(await readCorpus(io, file));
      if (json) return printJson(io, card);
      print(io, scoreCard(card));
    });
}

type Ask = (question: PolicyTestInput) => Promise<PolicyTestResult>;

async function openQuestions(io: Io, named: string | undefined): Promise<Ask> {
  const connection = await openConnection(io, { scope: "reviewer" });
  const id = await chooseProject(io, connection.client, named);
  const client: Client = scopedClient(connection, id);
  return (question) => unwrap(client.api.policy.test.$post({ json: question })).catch(refused);
}

/** A question that nobody can answer is wrong usage: exit 1 is kept for ask and deny. */
function refused(error: unknown): never {
  if (!(error instanceof ProblemError) || error.problem.code !== "invalid") throw error;
  throw new CliError(error.message, { next: "gate policy test --help", exit: EXIT.usage });
}

/** One answer a line, in the order of the questions; all of them must be allowed for exit 0. */
async function testLines(io: Io, ask: Ask): Promise<void> {
  let allowed = true;
  let number = 0;
  for await (const line of readLines(io.stdin)) {
    number++;
    if (line.trim() === "") continue;
    const result = await ask(parseLine(line, number)).catch((error) => inLine(error, number));
    allowed &&= result.effect === "allow";
    print(io, visibleJson(result, 0));
  }
  if (!allowed) throw new Exit(EXIT.failed);
}

/** Of many questions, the one that cannot be answered is named. */
function inLine(error: unknown, number: number): never {
  if (!(error instanceof CliError)) throw error;
  const { next, exit } = error;
  const options = next === null ? { exit } : { next, exit };
  throw new CliError(`Cannot answer line ${number}: ${error.message}`, options);
}

function parseLine(line: string, number: number): PolicyTestInput {
  try {
    return checkQuestion(PolicyTestInput.parse(JSON.parse(line)));
  } catch (cause) {
    const why = cause instanceof CliError
      ? cause.message
      : cause instanceof SyntaxError
      ? "it is no JSON"
      : "it needs command, or path with action";
    throw new CliError(`Cannot read line ${number}: ${why}`, { exit: EXIT.usage });
  }
}

function checkQuestion(question: PolicyTestInput): PolicyTestInput {
  if (question.command !== undefined || question.path !== undefined || question.action) {
    return question;
  }
  throw new CliError("Nothing to test: give --command, or --path with --action", {
    next: "gate policy test --command 'rm -rf build'",
    exit: EXIT.usage,
  });
}

/** Here, in the sources of gate, there is one to take. */
const OWN_CORPUS = "test/corpora/commands.jsonl";

async function readCorpus(io: Io, file: string | undefined): Promise<string> {
  if (file !== undefined) return await readNamed(io, file, BENCH_NEXT);
  if (existsSync(resolve(io.cwd, OWN_CORPUS))) return await readNamed(io, OWN_CORPUS);
  const message = "Nothing to score: give a corpus, a file of lines such as " +
    '{"command": "rm -rf ~", "expect": "stop"} and {"command": "ls", "expect": "allow"}';
  throw new CliError(message, { next: BENCH_NEXT, exit: EXIT.usage });
}

const BENCH_NEXT = "gate policy bench my-corpus.jsonl";

function describe(io: Io, result: PolicyTestResult): string {
  const colour = { allow: "green", ask: "yellow", deny: "red" } as const;
  const lines = [
    `${paint(io, colour[result.effect], result.effect)}: ${visibleLine(result.reason)}`,
  ];
  if (result.rule) {
    const { pattern, source, list } = result.rule;
    lines.push(`  rule     ${visibleLine(pattern)}  (${source} ${list})`);
  }
  if (result.alternative) lines.push(`  instead  ${visibleLine(result.alternative)}`);
  for (const argv of result.analysis?.commands ?? []) {
    lines.push(`  runs     ${visibleLine(argv.join(" "))}`);
  }
  return lines.join("\n");
}

const BENCH_HELP = `
Without a file it takes the corpus of gate's own sources, where it is run in them.

Examples:
  gate policy bench my-corpus.jsonl --json
  echo '{"command": "rm -rf ~", "expect": "stop"}' > my.jsonl && gate policy bench my.jsonl
`;

const HELP = `
Examples:
  gate policy test --command 'git push --force'
  gate policy test --path .env --action write --json
  printf '%s\\n' '{"command":"ls"}' '{"path":"a.ts","action":"write"}' |
    gate policy test --stdin --jsonl
`;

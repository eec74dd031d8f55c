import {
  Command,
  CommanderError,
  type CommandUnknownOpts,
  Help,
  type Option,
} from "@commander-js/extra-typings";
import { EXIT, ToolError } from "./errors.ts";
import type { Io } from "../io.ts";
import { safeLine } from "../terminal/visible.ts";

/** The streams, the environment and the version that the entry hands in. */
export type ToolIo = Io & {
  version: string;
  /** The words that start the tool, for its help; by default `scenario-tool`. */
  called?: "gate scenario";
};

/** Runs one command line of the scenario tool. Returns the exit code; never throws. */
export async function main(argv: string[], io: ToolIo): Promise<number> {
  const outcome = { code: EXIT.passed as number };
  try {
    await createProgram(argv, io, outcome).then((program) =>
      program.parseAsync(argv.length === 0 ? ["help"] : argv, { from: "user" })
    );
    return outcome.code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.passed : EXIT.error;
    return report(error, io);
  }
}

/** Loads only the command that is called: `validate` needs no executor. */
const COMMANDS = {
  run: () => import("./commands/run.ts"),
  validate: () => import("./commands/validate.ts"),
  schema: () => import("./commands/schema.ts"),
  list: () => import("./commands/list.ts"),
  init: () => import("./commands/init.ts"),
};

async function createProgram(
  argv: string[],
  io: ToolIo,
  outcome: { code: number },
): Promise<CommandUnknownOpts> {
  const { called = "scenario-tool" } = io;
  const program = new Command(called)
    .description("Generate adversarial test scenarios as JSON and execute them against a target.")
    .version(`${called} ${io.version}`, "-V, --version", "print the version")
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(safeLine(text)),
      outputError: (text, write) => write(text.replace(/^error: /, `${called}: `)),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
    })
    .showHelpAfterError(`  try: ${called} --help`)
    .addHelpText("after", EXAMPLES.replaceAll("scenario-tool", called));
  const meant = argv.find((word) => word in COMMANDS) as keyof typeof COMMANDS | undefined;
  const wanted = meant ? [meant] : Object.keys(COMMANDS) as (keyof typeof COMMANDS)[];
  for (const name of wanted) {
    const { createCommand } = await COMMANDS[name]();
    const command = createCommand(io, (code) => outcome.code = code, called);
    command.copyInheritedSettings(program)
      .showHelpAfterError(`  try: ${called} ${name} --help`);
    program.addCommand(command);
  }
  return program;
}

/** An option's help without a default that is an empty list or object. */
function describeOption(option: Option): string {
  return new Help().optionDescription(option).replace(/ \(default: (?:\[\]|\{\})\)$/, "");
}

function report(error: unknown, io: ToolIo): number {
  const message = error instanceof Error ? error.message : String(error);
  const { called = "scenario-tool" } = io;
  io.stderr.write(`${safeLine(`${called}: ${message}`)}\n`);
  if (error instanceof ToolError) {
    io.stderr.write(`  try: ${safeLine(error.next.replace(/^scenario-tool\b/, called))}\n`);
  }
  return EXIT.error;
}

const EXAMPLES = `
Examples:
  scenario-tool run --spec openapi.json --output json      print scenarios, execute nothing
  scenario-tool run --target http://127.0.0.1:3000         execute scenarios.json or openapi.json
  scenario-tool run --target http://127.0.0.1:3000 --scenarios my.json --priority critical
  scenario-tool run --target http://127.0.0.1:3000 --spec openapi.json \\
    --as "alice=Authorization: Bearer A" --as "bob=Authorization: Bearer B"
                                                           compare what two users may see
  scenario-tool run --target cli --from-help git           execute command lines from a program's help
  scenario-tool validate my.json                           print every mistake with its line

Exit codes: 0 passed (without --target: printed), 1 a failure, 2 a critical failure,
3 tool or usage error, or a --target against which nothing was executed
`;

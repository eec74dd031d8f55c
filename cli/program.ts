import { markedBelow, say } from "./terminal/output.ts";
import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { VERSION } from "../server/constants.ts";
import { asksForJson } from "../server/runtime/self_failure.ts";
import { COMMANDS, HIDDEN } from "./commands.ts";
import { CliError, EXIT, Exit, explain } from "./errors.ts";
import type { Io, Tree } from "./io.ts";
import { showTyping } from "./terminal/typing.ts";
import { visibleLine, visibleText } from "./terminal/visible.ts";
import { refuseOther } from "./unknown_command.ts";

/** Runs one command line and returns its exit code; never throws, never ends the process. */
export async function run(argv: string[], io: Io): Promise<number> {
  try {
    const called = argv.find((word) => !word.startsWith("-") && word !== "help");
    await refuseOther(
      argv[0] === "help" ? argv[1] : argv[0],
      (isWanted) => createProgram(io, isWanted),
    );
    const program = await createProgram(io, (name) => name === called);
    const words = argv.length === 0 ? ["help"] : withoutHelp(argv, program);
    await program.parseAsync(words, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(error, io);
  } finally {
    showTyping(io);
  }
}

/** Commander answers `help` of an unknown command with the whole help instead of an error. */
function withoutHelp(argv: string[], program: CommandUnknownOpts): string[] {
  const at = argv.indexOf("help");
  const parent = at === 0 ? program : program.commands.find((one) => one.name() === argv[0]);
  const asked = argv[at + 1];
  if (at < 0 || at > 1 || !parent?.commands.length || !asked || asked.startsWith("-")) return argv;
  const isKnown = asked === "help" || parent.commands.some((one) => one.name() === asked);
  return isKnown ? argv : argv.toSpliced(at, 1);
}

/** Prints an error and the next command to stderr; returns the exit code. */
function reportError(error: unknown, io: Io): number {
  if (error instanceof Exit) return error.exit;
  const { message, next } = explain(error);
  if (asksForJson(io.env)) {
    io.stderr.write(`${JSON.stringify({ message, next })}\n`);
    return error instanceof CliError ? error.exit : EXIT.failed;
  }
  say(io, `gate: ${markedBelow(visibleText(message), 0, {})}`);
  if (next) io.stderr.write(`  try: ${visibleLine(next)}\n`);
  return error instanceof CliError ? error.exit : EXIT.failed;
}

/** The tree of all commands by name; only the modules of `isCalled` commands are loaded. */
export async function createProgram(
  io: Io,
  isCalled: (name: string) => boolean,
): Promise<CommandUnknownOpts> {
  const program = new Command("gate")
    .description(
      "Stand between AI agents and your machine: check, hold, record and roll back their actions.",
    )
    .version(`gate ${VERSION}`, "-V, --version", "print the version")
    .enablePositionalOptions()
    // Texts are wrapped beside long names and in narrow terminals too.
    .configureHelp({ minWidthToWrap: 12 })
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(visibleText(text.replace(/^error: /, "gate: "))),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
    })
    .showHelpAfterError("  try: gate --help")
    .addHelpCommand(helpCommand())
    .addHelpText("after", EXAMPLES);
  const tree: Tree = (isWanted) => createProgram(io, isWanted);
  for (const { name, summary, group, load } of COMMANDS) {
    const command = isCalled(name)
      ? (await load()).createCommand(io, tree)
      : new Command(name).description(summary);
    const hidden = { hidden: group === HIDDEN };
    program.addCommand(adopt(command.summary(summary).helpGroup(group), program), hidden);
  }
  return program;
}

/** Commander passes its settings on only to commands that it created itself. */
function adopt(
  command: CommandUnknownOpts,
  parent: CommandUnknownOpts,
  path = parent.name(),
): CommandUnknownOpts {
  const own = `${path} ${command.name()}`;
  command.copyInheritedSettings(parent).showHelpAfterError(`  try: ${own} --help`);
  for (const child of command.commands) adopt(child, command, own);
  return command;
}

function helpCommand() {
  const command = new Command("help").description("Show how a command is used").helpGroup("Help:");
  command.argument("[command]");
  return command;
}

const EXAMPLES = `
Words:
  action       a file change or a command that an agent asks for
  policy       the rules of a project: each action is allowed, denied or held
  held         waiting until a person approves or rejects the action
  ledger       the record of all actions of a project
  agent host   the program that runs an agent, such as Claude Code or Codex

Examples:
  gate demo                 show gate at work with a scripted agent (one minute)
  gate init                 put the project in this folder behind the gate
  gate daemon start         start the daemon, then:  gate dashboard
  gate pending              list the held actions, then:  gate approve <id>
`;

import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { VERSION } from "../server/constants.ts";
import { COMMANDS } from "./commands.ts";
import { EXIT, reportError } from "./errors.ts";
import type { Io } from "./io.ts";
import { visibleText } from "./visible.ts";

/** Runs one command line and answers its exit code; never throws, never ends the process. */
export async function run(argv: string[], io: Io): Promise<number> {
  try {
    const program = await createProgram(argv, io);
    await program.parseAsync(argv.length === 0 ? ["help"] : argv, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(error, io);
  }
}

/** The whole tree by name, but only the command that is meant is loaded. */
async function createProgram(argv: string[], io: Io): Promise<CommandUnknownOpts> {
  const program = new Command("gate")
    .description("Stands between AI agents and your machine: checks, holds, records, rolls back.")
    .version(`gate ${VERSION}`, "-V, --version", "print the version")
    .enablePositionalOptions()
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
    .addHelpText("after", EXAMPLES);
  const meant = argv.find((word) => !word.startsWith("-") && word !== "help");
  for (const { name, summary, group, load } of COMMANDS) {
    const command = name === meant
      ? (await load()).createCommand(io)
      : new Command(name).description(summary);
    program.addCommand(adopt(command.summary(summary).helpGroup(group), program));
  }
  return program;
}

/** Commander hands its settings down only to commands that it made itself. */
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

const EXAMPLES = `
Examples:
  gate demo                 see a hold, an approval, a block and a rollback in a minute
  gate init                 put the project in this folder behind the gate
  gate daemon start         start the daemon, then:  gate dashboard
  gate pending              what waits for you, then:  gate approve <id>
`;

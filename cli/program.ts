import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { VERSION } from "../server/constants.ts";
import { COMMANDS, HIDDEN, type Tree } from "./commands.ts";
import type { Io } from "./io.ts";
import { visibleText } from "./terminal/visible.ts";

/** The whole tree by name, but only the commands that are meant are loaded. */
export async function createProgram(
  io: Io,
  isMeant: (name: string) => boolean,
): Promise<CommandUnknownOpts> {
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
    .addHelpCommand(helpCommand())
    .addHelpText("after", EXAMPLES);
  const tree: Tree = (isWanted) => createProgram(io, isWanted);
  for (const { name, summary, group, load } of COMMANDS) {
    const command = isMeant(name)
      ? (await load()).createCommand(io, tree)
      : new Command(name).description(summary);
    const hidden = { hidden: group === HIDDEN };
    program.addCommand(adopt(command.summary(summary).helpGroup(group), program), hidden);
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

function helpCommand() {
  const command = new Command("help").description("What a command takes").helpGroup("Help:");
  command.argument("[command]");
  return command;
}

const EXAMPLES = `
Examples:
  gate demo                 see a hold, an approval, a block and a rollback in a minute
  gate init                 put the project in this folder behind the gate
  gate daemon start         start the daemon, then:  gate dashboard
  gate pending              what waits for you, then:  gate approve <id>
`;

import { Command } from "@commander-js/extra-typings";
import type { Io } from "../io.ts";
import { printJson } from "../terminal/output.ts";
import { countPending, promptText } from "../daemon/prompt.ts";

/** `gate prompt`: the number of held actions, for a shell prompt. */
export function createCommand(io: Io) {
  return new Command("prompt")
    .description("Print the number of held actions for a shell prompt, or nothing if it is zero.")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ json }) => {
      if (!json) return void io.stdout.write(await promptText(io));
      const count = await countPending(io);
      printJson(io, { running: count !== null, pending: count ?? 0 });
    });
}

const HELP = `
It never starts the daemon and always exits with 0.

Examples:
  PS1='$(gate prompt) \\$ '
`;

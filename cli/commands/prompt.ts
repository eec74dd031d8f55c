import { Command } from "@commander-js/extra-typings";
import type { Io } from "../io.ts";
import { printJson } from "../terminal/output.ts";
import { countPending, promptText } from "../daemon/prompt.ts";

/** `gate prompt`: how many actions wait, for a shell prompt; quiet when none do. */
export function createCommand(io: Io) {
  return new Command("prompt")
    .description("Print how many actions wait, for a shell prompt; nothing when none do.")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ json }) => {
      if (!json) return void io.stdout.write(await promptText(io));
      const count = await countPending(io);
      printJson(io, { running: count !== null, pending: count ?? 0 });
    });
}

const HELP = `
It never starts the daemon and always exits 0.

Examples:
  PS1='$(gate prompt) \\$ '
`;

import { Command } from "@commander-js/extra-typings";
import type { Tree } from "../commands.ts";
import { examples } from "../help.ts";
import type { Io } from "../io.ts";
import { manualPage } from "../man/page.ts";

/** `gate man`: the manual page, made from the commands themselves. */
export function createCommand(io: Io, tree: Tree) {
  return new Command("man")
    .description("Print the manual page; man shows it.")
    .addHelpText("after", HELP)
    .action(async () => void io.stdout.write(manualPage(await tree(() => true))));
}

const HELP = examples(
  "gate man | man -l -",
  "gate man > ~/.local/share/man/man1/gate.1     then: man gate",
);

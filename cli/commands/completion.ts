import { Argument, Command } from "@commander-js/extra-typings";
import { SCRIPTS, SHELLS } from "../completion/scripts.ts";
import { examples } from "../help.ts";
import type { Io } from "../io.ts";

/** `gate completion <shell>`: what a shell reads to complete our command lines. */
export function createCommand(io: Io) {
  return new Command("completion")
    .description("Print what a shell has to read to complete gate's commands, options and ids.")
    .addArgument(new Argument("<shell>", "which one").choices(SHELLS))
    .addHelpText("after", HELP)
    .action((shell) => void io.stdout.write(SCRIPTS[shell]));
}

const HELP = `
Ids of what waits, of projects and of workspaces come from the daemon, if it runs.
${
  examples(
    'eval "$(gate completion bash)"                              in ~/.bashrc',
    'eval "$(gate completion zsh)"                               in ~/.zshrc, after compinit',
    "gate completion fish > ~/.config/fish/completions/gate.fish",
    "gate completion powershell | Out-String | Invoke-Expression  in $PROFILE",
  )
}`;

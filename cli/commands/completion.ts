import { Argument, Command } from "@commander-js/extra-typings";
import { SCRIPTS, SHELLS } from "../completion/scripts.ts";
import { examples } from "../options.ts";
import type { Io } from "../io.ts";

/** `gate completion <shell>`: the script that makes a shell complete gate's command lines. */
export function createCommand(io: Io) {
  return new Command("completion")
    .description("Print a script that makes a shell complete gate's commands, options and ids.")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText("after", HELP)
    .action((shell) => void io.stdout.write(SCRIPTS[shell]));
}

const HELP = `
If the daemon runs, it completes the ids of held actions, projects, workspaces and grants too.
${
  examples(
    'eval "$(gate completion bash)"                              in ~/.bashrc',
    'eval "$(gate completion zsh)"                               in ~/.zshrc, after compinit',
    "gate completion fish > ~/.config/fish/completions/gate.fish",
    "gate completion powershell | Out-String | Invoke-Expression  in $PROFILE",
  )
}`;

import { Argument, Command } from "@commander-js/extra-typings";
import { HOOKED_HOSTS } from "../../server/hosts/hosts.ts";
import { CliError, EXIT } from "../errors.ts";
import type { Io } from "../io.ts";

/** The help of `gate hook <host>`. Without loading commander, `cli/hook/` answers the hosts. */
export function createCommand(_io: Io) {
  return new Command("hook")
    .description("Answer one hook of an agent host: its JSON on stdin, the answer on stdout.")
    .addArgument(
      new Argument("<host>", "whose hook it is").choices(HOOKED_HOSTS.map(({ id }) => id)),
    )
    .addHelpText("after", HELP)
    .action((host) => {
      throw new CliError(`Cannot answer: "gate hook ${host}" takes no more arguments`, {
        exit: EXIT.usage,
        next: "gate hook --help",
      });
    });
}

const HELP = `
gate global-setup --enforce writes this command into the hosts' settings. It prints {} for an allowed
call, and the host's own JSON with the reason for a refusal or any error, both with exit 0. When it
cannot print JSON, it prints the reason on stderr and ends with exit 2.

Example:
  echo \'{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/my/project",
    "tool_name":"Bash","tool_input":{"command":"ls"}}\' | gate hook claude-code
`;

import { Argument, Command } from "@commander-js/extra-typings";
import { HOOKED_HOSTS } from "../../server/hosts/hosts.ts";
import { CliError, EXIT } from "../errors.ts";
import type { Io } from "../io.ts";

/** The help of `gate hook <host>`. Without loading commander, `cli/hook/` answers the hosts. */
export function createCommand(_io: Io) {
  return new Command("hook")
    .description("Answer one hook call of an agent host: JSON on stdin, the answer on stdout.")
    .addArgument(
      new Argument("<host>", "the agent host that calls").choices(HOOKED_HOSTS.map(({ id }) => id)),
    )
    .addHelpText("after", HELP)
    .action((host) => {
      throw new CliError(`Cannot answer the hook: "gate hook ${host}" takes no further arguments`, {
        exit: EXIT.usage,
        next: "gate hook --help",
      });
    });
}

const HELP = `
gate global-setup --enforce adds this command to the hosts' settings. If the tool call is allowed,
it prints {} and exits with 0. If the call is refused or an error occurs, it prints the host's own
JSON with the reason and exits with 0. If it cannot print, it exits with 2 and writes the reason to
stderr. The line in the settings also exits with 2 if gate cannot start, so the host blocks the
call.

Example:
  echo \'{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/my/project",
    "tool_name":"Bash","tool_input":{"command":"ls"}}\' | gate hook claude-code
`;

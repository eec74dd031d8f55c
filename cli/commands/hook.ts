import { Argument, Command } from "@commander-js/extra-typings";
import { HOOKED_HOSTS } from "../../server/hosts/hosts.ts";
import { CliError, EXIT } from "../errors.ts";
import type { Io } from "../io.ts";

/** `gate hook <host>`, for whoever asks how it is used: hosts get their answers from `hook/`. */
export function createCommand(_io: Io) {
  return new Command("hook")
    .description("Answer one hook of an agent's host: its JSON on stdin, the answer on stdout.")
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
gate global-setup --enforce writes this into the hosts' settings. Allowed: exit 0 and {}. Refused, or
anything that goes wrong: exit 0 and the host's own JSON with the reason; exit 2 with the reason on
stderr where not even that can be written.

Example:
  echo \'{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/my/project",
    "tool_name":"Bash","tool_input":{"command":"ls"}}\' | gate hook claude-code
`;

import { Command, Option } from "@commander-js/extra-typings";
import { Scope } from "../../server/auth/schema.ts";
import { openTokens } from "../../server/auth/tokens.ts";
import { openHome } from "../../server/runtime/home.ts";
import type { Io } from "../io.ts";
import { print } from "../terminal/output.ts";
import { placeOf } from "../place.ts";

/** `gate token`: prints one access token and nothing else. */
export function createCommand(io: Io) {
  return new Command("token")
    .description("Print the access token of a scope, for requests to the HTTP API.")
    .addOption(
      new Option("--scope <scope>", "what the token allows").choices(Scope.options).default(
        "reviewer",
      ),
    )
    .addHelpText("after", HELP)
    .action(async ({ scope }) => {
      const { home } = placeOf(io);
      openHome(home);
      print(io, (await openTokens(home))[Scope.parse(scope)]);
    });
}

const HELP = `
Scopes:
  agent      submit actions and wait for their results
  viewer     read
  reviewer   everything, including approving and rejecting

Examples:
  curl -H "Authorization: Bearer $(gate token --scope viewer)" http://127.0.0.1:47000/api/actions
`;

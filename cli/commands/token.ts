import { Command, Option } from "@commander-js/extra-typings";
import { Scope } from "../../server/auth/schema.ts";
import { openTokens } from "../../server/auth/tokens.ts";
import { openHome } from "../../server/runtime/home.ts";
import type { Io } from "../io.ts";
import { print } from "../terminal/output.ts";
import { placeOf } from "../place.ts";

/** `gate token`: prints one credential and nothing else. */
export function createCommand(io: Io) {
  return new Command("token")
    .description("Print the credential of a scope, and nothing else.")
    .addOption(
      new Option("--scope <scope>", "what it may do").choices(Scope.options).default("reviewer"),
    )
    .addHelpText("after", HELP)
    .action(async ({ scope }) => {
      const { home } = placeOf(io);
      openHome(home);
      print(io, (await openTokens(home))[Scope.parse(scope)]);
    });
}

const HELP = `
Scopes: agent submits and waits; viewer reads; reviewer does everything.

Examples:
  curl -H "Authorization: Bearer $(gate token --scope viewer)" http://127.0.0.1:47000/api/actions
`;

import { Command } from "@commander-js/extra-typings";
import { connect } from "../daemon/connect.ts";
import { createLoginLink } from "../daemon/login_link.ts";
import type { Io } from "../io.ts";
import { showLink } from "../terminal/open_browser.ts";
import { printJson } from "../terminal/output.ts";

/** `gate dashboard`: opens the dashboard, logged in. */
export function createCommand(io: Io) {
  return new Command("dashboard")
    .description("Open the dashboard in a browser, logged in.")
    .option("--no-open", "only print the link; it works once, for a minute")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate dashboard\n  gate dashboard --no-open\n")
    .action(async ({ open, json }) => {
      const client = await connect(io, { scope: "reviewer" });
      const url = await createLoginLink(client);
      if (json) return printJson(io, { url });
      await showLink(io, url, open);
    });
}

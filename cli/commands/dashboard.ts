import { Command } from "@commander-js/extra-typings";
import { connect } from "../daemon/connect.ts";
import { createLoginLink, showLink } from "../daemon/dashboard_link.ts";
import type { Io } from "../io.ts";
import { examples } from "../options.ts";
import { printJson } from "../terminal/output.ts";

/** `gate dashboard`: opens the dashboard, logged in. */
export function createCommand(io: Io) {
  return new Command("dashboard")
    .description("Open the dashboard in a browser, logged in.")
    .option("--no-open", "only print the login link; it works once, within a minute")
    .option("--json", "print the login link as JSON; open no browser")
    .addHelpText("after", examples("gate dashboard", "gate dashboard --no-open"))
    .action(async ({ open, json }) => {
      const client = await connect(io, { scope: "reviewer" });
      const url = await createLoginLink(client);
      if (json) return printJson(io, { url });
      await showLink(io, url, open);
    });
}

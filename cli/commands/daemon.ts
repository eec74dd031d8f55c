import { Command, Option } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { connect } from "../daemon/connect.ts";
import { showLog } from "../daemon/show_log.ts";
import { examples } from "../options.ts";
import { showDaemonStatus } from "../daemon/show_status.ts";
import { startDaemon } from "../daemon/start.ts";
import { stopDaemon } from "../daemon/stop.ts";
import type { Io } from "../io.ts";
import { print, printJson } from "../terminal/output.ts";
import { countBetween } from "../options.ts";
import { placeOf } from "../place.ts";
import { remindOfProof } from "../proof/offer.ts";
import { withSpinner } from "../terminal/prompts.ts";

/** `gate daemon`: the one server of this machine. */
export function createCommand(io: Io) {
  const daemon = new Command("daemon")
    .description(
      "Start, stop or inspect the daemon: the server on port 47000 that checks, holds and records " +
        "the actions of all agents on this machine.",
    )
    .addHelpText("after", HELP);
  addStart(daemon, io);
  daemon.command("stop")
    .description("Stop the daemon after it has finished the work in progress.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate daemon stop"))
    .action(async ({ json }) => {
      const stopped = await withSpinner(io, "Stopping the daemon", () => stopDaemon(placeOf(io)));
      if (json) printJson(io, { stopped });
      else print(io, stopped ? "Stopped." : "The daemon is not running.");
    });
  daemon.command("restart")
    .description("Stop the daemon and start it again.")
    .addOption(authOption())
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate daemon restart"))
    .action(async ({ auth, json }) => {
      await withSpinner(io, "Stopping the daemon", () => stopDaemon(placeOf(io)));
      await startDaemon(io, { auth, foreground: false, json: json ?? false });
    });
  addStatus(daemon, io);
  daemon.command("logs")
    .description("Show the daemon's log.")
    .option("-f, --follow", "keep printing new lines until Ctrl-C")
    .option("-n, --lines <count>", "show this many lines", countBetween(0, 100_000), 100)
    .option("--json", "print the JSON lines unchanged")
    .addHelpText("after", examples("gate daemon logs -n 20", "gate daemon logs -f --json"))
    .action(async (options) => await showLog(io, options));
  return daemon;
}

function addStart(daemon: Command, io: Io): void {
  daemon.command("start")
    .description("Start the daemon in the background; does nothing if it already runs.")
    .option("--foreground", "run it in this terminal and print a login link to the dashboard")
    .addOption(authOption())
    .option("--json", "print JSON; not with --foreground")
    .addHelpText("after", examples("gate daemon start", "gate daemon start --foreground"))
    .action(async ({ foreground, auth, json }) => {
      await startDaemon(io, { auth, foreground: foreground ?? false, json: json ?? false });
      if (!foreground && !json && auth === "token") await remindOfProof(io);
    });
  daemon.command("run", { hidden: true })
    .addOption(authOption())
    .option("--print-log", "also write the log to standard error")
    .action(async ({ auth, printLog }) => {
      const { runDaemon } = await import("../daemon/foreground.ts");
      await runDaemon(io, { auth, detached: true, print_log: printLog ?? false });
    });
}

function addStatus(daemon: Command, io: Io): void {
  daemon.command("status")
    .description("Show the daemon's state and its projects; exit 1 if it does not run.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate daemon status", "gate daemon status --json"))
    .action(async ({ json }) => {
      const client = await connect(io, { scope: "viewer", start: false });
      const status = await unwrap(client.api.daemon.status.$get());
      if (json) printJson(io, status);
      else showDaemonStatus(io, status);
    });
}

function authOption() {
  return new Option("--auth <how>", "whether requests need a token; none is for short tests only")
    .choices(["token", "none"] as const).default("token" as const);
}

const HELP = `
Examples:
  gate daemon start                start it in the background
  gate daemon start --foreground   run it in this terminal; Ctrl-C stops it
  gate daemon logs -f              follow its log
`;

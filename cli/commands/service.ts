import { Command, Option } from "@commander-js/extra-typings";
import { showLog } from "../daemon/show_log.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { examples } from "../help.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say } from "../terminal/output.ts";
import { countBetween } from "../options.ts";
import {
  findService,
  type Installed,
  removeService,
  requireManager,
  type Service,
  stateOf,
  writeService,
} from "../service/service.ts";
import { showOutput } from "../service/call.ts";
import { askDaemon, endRunning, waitForDaemon } from "../service/take_over.ts";
import { withSpinner } from "../terminal/spinner.ts";

/** `gate service`: the daemon, started at login by launchd or systemd. */
export function createCommand(io: Io) {
  const service = new Command("service")
    .description("Start the daemon at login: by systemd on Linux, by launchd on macOS.")
    .addHelpText("after", HELP);
  addInstall(service, io);
  service.command("remove")
    .description("End the service and start it at login no more.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate service remove"))
    .action(async ({ json }) => await remove(io, json ?? false));
  service.command("status")
    .description("Show whether it is installed, up to date and running; exit 1 when it is not.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate service status", "gate service status --json"))
    .action(async ({ json }) => await showStatus(io, json ?? false));
  service.command("logs")
    .description("Show what it wrote: the journal where systemd keeps it, else the daemon's log.")
    .option("-f, --follow", "go on as it grows")
    .option("-n, --lines <count>", "how many lines to begin with", countBetween(0, 100_000), 100)
    .option("--json", "print JSON lines")
    .addHelpText("after", examples("gate service logs -n 20", "gate service logs -f"))
    .action(async ({ lines, follow = false, json = false }) => {
      const { manager, found } = findService(io);
      const command = found && await manager.journal({ lines, follow, json });
      if (command) await showOutput(io, command);
      else await showLog(io, { lines, follow, json });
    });
  return service;
}

interface InstallOptions {
  auth: "token" | "none";
  dryRun?: boolean;
  json?: boolean;
}

function addInstall(service: Command, io: Io): void {
  service.command("install")
    .description(
      "Start the daemon now and at each login; again after an upgrade brings it up to date.",
    )
    .addOption(
      new Option("--auth <how>", "a service always asks for a credential")
        .choices(["token", "none"] as const).default("token" as const),
    )
    .option("--dry-run", "print the file that would be written, and do nothing")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate service install --dry-run", "gate service install"))
    .action(async (options) => await install(io, options));
}

async function install(io: Io, { auth, dryRun, json }: InstallOptions): Promise<void> {
  if (auth === "none") {
    throw new CliError("Cannot install a service that asks for no credential", {
      next: "gate service install",
      exit: EXIT.usage,
    });
  }
  const service = findService(io);
  const { manager: { name, file }, wanted } = service;
  if (dryRun) {
    if (json) return printJson(io, { dry_run: true, manager: name, file, text: wanted });
    print(io, wanted.trimEnd());
    return say(io, `This would be ${file}. Nothing was written (--dry-run).`);
  }
  await requireManager(service);
  const done = await writeService(io, service);
  const pid = await bringUp(io, service, done);
  if (json) return printJson(io, { dry_run: false, manager: name, file, ...done, pid });
  print(io, `${done.outcome}: ${file}`);
  if (done.backup) print(io, paint(io, "dim", `backup: ${done.backup}`));
  print(io, `The daemon runs (pid ${pid}), and starts at each login.`);
}

/** Starts the service, unless it is the daemon already and nothing has changed. */
async function bringUp(io: Io, { manager }: Service, { outcome }: Installed): Promise<number> {
  const state = await manager.state();
  const running = await askDaemon(io);
  const isIt = running !== null && state.enabled && state.pid === running.pid;
  if (isIt && outcome === "unchanged") return running.pid;
  if (!isIt) await endRunning(io);
  return await withSpinner(io, "Starting the service", async () => {
    await manager.activate();
    return (await waitForDaemon(io)).pid;
  });
}

async function remove(io: Io, json: boolean): Promise<void> {
  const service = findService(io);
  if (service.found !== null) await requireManager(service);
  const removed = service.found !== null && await removeService(io, service);
  const outcome = removed ? "removed" : "absent";
  if (json) return printJson(io, { outcome, file: service.manager.file });
  if (!removed) return print(io, "No service is installed.");
  print(io, `Removed ${service.manager.file}; the daemon has ended.`);
  say(io, "  gate daemon start starts it without a service");
}

async function showStatus(io: Io, json: boolean): Promise<void> {
  const service = findService(io);
  const { manager, found, wanted } = service;
  const state = await stateOf(service);
  const daemon = await askDaemon(io);
  const installed = found !== null;
  const current = found === wanted;
  const isDaemon = daemon !== null && daemon.pid === state.pid;
  const { name, file } = manager;
  if (json) {
    const pid = daemon?.pid ?? null;
    printJson(io, { manager: name, file, installed, current, ...state, daemon_pid: pid });
  } else {
    const word = installed ? current ? "installed" : "installed, outdated" : "not installed";
    print(io, `${word}: ${file}`);
    print(io, `${name} says: ${state.says}`);
    if (!installed) say(io, "  try: gate service install");
    else if (!current) say(io, "  it differs from what this gate writes: gate service install");
    if (daemon && !isDaemon) {
      say(io, `The daemon (pid ${daemon.pid}) runs outside of the service.`);
    }
  }
  if (!installed || !state.running) throw new Exit(EXIT.failed);
}

const HELP = `
Examples:
  gate service install --dry-run      shows the unit and changes nothing
  gate service install
  gate service logs -f

On Linux it runs while you are logged in; loginctl enable-linger keeps it from boot on.
`;

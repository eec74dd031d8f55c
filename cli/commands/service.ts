import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { showLog } from "../daemon/show_log.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { examples } from "../options.ts";
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
import { withSpinner } from "../terminal/prompts.ts";

/** `gate service`: installs the daemon as a service of launchd or systemd. */
export function createCommand(io: Io) {
  const service = new Command("service")
    .description("Start the daemon at login, with systemd on Linux or launchd on macOS.")
    .addHelpText("after", HELP);
  addInstall(service, io);
  service.command("remove")
    .description("Stop the service and remove it from login.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate service remove"))
    .action(async ({ json }) => await remove(io, json ?? false));
  service.command("status")
    .description(
      "Show whether the service is installed, up to date and running. Exits 1 if it is not installed or not running.",
    )
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate service status", "gate service status --json"))
    .action(async ({ json }) => await showStatus(io, json ?? false));
  service.command("logs")
    .description("Show the service's output: systemd's journal, or else the daemon's log.")
    .option("-f, --follow", "keep printing new lines until Ctrl-C")
    .option("-n, --lines <count>", "show this many lines", countBetween(0, 100_000), 100)
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
    .description("Start the daemon now and at each login. Run it again after an upgrade of gate.")
    .addOption(
      new Option("--auth <how>", "how clients log in: a service always requires a token")
        .choices(["token"]).argParser(parseAuth).default("token" as const),
    )
    .option("--dry-run", "print the service file and change nothing")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate service install --dry-run", "gate service install"))
    .action(async (options) => await install(io, options));
}

/** Accepts "none" too, so that install() can say why it is refused. */
function parseAuth(given: string): InstallOptions["auth"] {
  if (given === "token" || given === "none") return given;
  throw new InvalidArgumentError("Allowed choices are token.");
}

async function install(io: Io, { auth, dryRun, json }: InstallOptions): Promise<void> {
  if (auth === "none") {
    throw new CliError(
      "Cannot install a service with --auth none: a service always requires a token",
      {
        next: "gate service install",
        exit: EXIT.usage,
      },
    );
  }
  const service = findService(io);
  const { manager: { name, file }, wanted } = service;
  if (dryRun) {
    if (json) return printJson(io, { dry_run: true, manager: name, file, text: wanted });
    print(io, wanted.trimEnd());
    return say(io, `This is the content of ${file}. Nothing was written (--dry-run).`);
  }
  await requireManager(service);
  const done = await writeService(io, service);
  const pid = await bringUp(io, service, done);
  if (json) return printJson(io, { dry_run: false, manager: name, file, ...done, pid });
  print(io, `${done.outcome}: ${file}`);
  if (done.backup) print(io, paint(io, "dim", `backup: ${done.backup}`));
  print(io, `The daemon runs (pid ${pid}) and starts at each login.`);
}

/**
 * Starts or restarts the service and returns the daemon's pid. First stops a daemon that runs
 * outside the service. Does nothing if the service is unchanged and runs.
 */
async function bringUp(io: Io, { manager }: Service, { outcome }: Installed): Promise<number> {
  const state = await manager.state();
  const running = await askDaemon(io);
  const isService = running !== null && state.enabled && state.pid === running.pid;
  if (isService && outcome === "unchanged") return running.pid;
  if (!isService) await endRunning(io);
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
  print(io, `Removed ${service.manager.file}; the daemon has stopped.`);
  say(io, "  to start the daemon without a service: gate daemon start");
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
    print(io, `${name} reports: ${state.says}`);
    if (!installed) say(io, "  try: gate service install");
    else if (!current) {
      say(
        io,
        "  the file differs from the one that this gate writes; update it: gate service install",
      );
    }
    if (daemon && !isDaemon) {
      say(io, `The daemon (pid ${daemon.pid}) runs outside the service.`);
    }
  }
  if (!installed || !state.running) throw new Exit(EXIT.failed);
}

const HELP = `
Examples:
  gate service install --dry-run
  gate service install
  gate service logs -f

On Linux the service runs while you are logged in. With loginctl enable-linger it runs from boot on.
`;

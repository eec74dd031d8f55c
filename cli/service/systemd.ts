import { existsSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import { systemPlaces, systemProgram } from "../../server/runtime/system_program.ts";
import { dotConfig, type Machine } from "../hosts/machine.ts";
import { call } from "./call.ts";
import {
  type JournalOptions,
  MARK,
  type Obstacle,
  type Program,
  type ServiceManager,
  type ServiceState,
} from "./manager.ts";

const UNIT = "gate.service";

/** The systemd of this user. */
export function createSystemd(machine: Machine): ServiceManager {
  const systemctl = (...args: string[]) => call(machine.env, "systemctl", ["--user", ...args]);
  const must = async (...args: string[]) => {
    const { code, stderr } = await systemctl(...args);
    if (code === 0) return;
    const why = stderr.trim().split("\n")[0] || "no reason given";
    throw new CliError(`systemctl --user ${args.join(" ")} failed: ${why}`, {
      next: "gate service logs",
    });
  };
  return {
    name: "systemd",
    file: join(dotConfig(machine), "systemd", "user", UNIT),
    render,
    obstacle: async () => obstacleOf(machine, await systemctl("show", "--property=Version")),
    async state() {
      return stateOf((await systemctl("show", UNIT, `--property=${PROPERTIES}`)).stdout);
    },
    async activate() {
      await must("daemon-reload");
      await must("enable", UNIT);
      // After a crash loop systemd would refuse to start the unit.
      await systemctl("reset-failed", UNIT);
      await must("restart", UNIT);
    },
    deactivate: () => must("disable", "--now", UNIT),
    forget: () => must("daemon-reload"),
    async journal(options) {
      const asked = await call(machine.env, "journalctl", [...JOURNAL, "-q", "-n", "1"]);
      return asked.code === 0 && asked.stdout.trim() !== "" ? journalCommand(options) : null;
    },
  };
}

/**
 * The unit has no `Type=notify` and no watchdog, because no runtime can send to a datagram socket.
 * It has no ProtectHome, PrivateTmp, RestrictNamespaces or MemoryDenyWriteExecute: the daemon writes
 * projects, agents use /tmp and bwrap, and a JIT compiler writes executable memory.
 */
function render({ command, args, env }: Program): string {
  const variables = Object.entries(env).map(([name, value]) =>
    `Environment=${quote(`${name}=${value}`)}`
  );
  return `# ${MARK}
[Unit]
Description=gate, the local server between AI agents and this machine
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${startOf(command, args)}
${variables.map((line) => `${line}\n`).join("")}Restart=on-failure
RestartSec=1
TimeoutStopSec=20
NoNewPrivileges=yes
UMask=0077
MemoryMax=512M
TasksMax=512
LimitNOFILE=4096
RestrictRealtime=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6

[Install]
WantedBy=default.target
`;
}

/** The start line. `--print-log` copies the log to the journal. */
function startOf(command: string, args: string[]): string {
  const rest = [...args, "daemon", "run", "--print-log"].map(quoteArgument).join(" ");
  // systemd refuses a program path with these characters, so a shell starts it.
  if (!/["'\\$]/.test(command)) return `${quote(command)} ${rest}`;
  return `/bin/sh -c "exec \\"$$0\\" \\"$$@\\"" ${quoteArgument(command)} ${rest}`;
}

/** Escapes `$`, which systemd expands in arguments but not in the program or in `Environment=`. */
function quoteArgument(text: string): string {
  return quote(text).replaceAll("$", "$$$$");
}

function quote(text: string): string {
  if (/[\n\r\0]/.test(text)) {
    throw new CliError(`Cannot write "${text}" into a unit: it contains a line break`);
  }
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return /^[\w./:=@+,%-]+$/.test(text) ? escaped : `"${escaped}"`;
}

function obstacleOf(
  machine: Machine,
  answered: { code: number | null; stderr: string },
): Obstacle | null {
  if (answered.code === 0) return null;
  const next = "run gate daemon start from a program that starts at your login";
  if (answered.code === null && systemProgram("systemctl", systemPlaces(machine.env)) === null) {
    return { why: "this Linux has no systemd", next };
  }
  const said = answered.stderr.trim().split("\n")[0];
  const why = `systemd has no session for this user${said ? ` (${said})` : ""}`;
  return existsSync("/run/systemd/system")
    ? { why, next: "log in directly instead of by su or sudo, then gate service install" }
    : { why, next };
}

const PROPERTIES = "UnitFileState,ActiveState,SubState,MainPID,Result";

function stateOf(shown: string): ServiceState {
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(shown)?.[1] ?? "";
  const pid = Number(value("MainPID"));
  const result = value("Result");
  const why = result && result !== "success" ? `: ${result}` : "";
  return {
    enabled: value("UnitFileState") === "enabled",
    running: value("ActiveState") === "active",
    pid: pid > 0 ? pid : null,
    says: `${value("ActiveState") || "unknown"} (${value("SubState") || "unknown"}${why})`,
  };
}

const JOURNAL = ["--user-unit", UNIT, "--no-pager"];

function journalCommand({ lines, follow, json }: JournalOptions): string[] {
  const shape = ["-o", json ? "json" : "short-iso"];
  return ["journalctl", ...JOURNAL, ...shape, "-n", String(lines), ...follow ? ["-f"] : []];
}

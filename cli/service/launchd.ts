import { userInfo } from "node:os";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import { call } from "./call.ts";
import type { Machine } from "../hosts/machine.ts";
import { MARK, type Program, type ServiceManager, type ServiceState } from "./manager.ts";

const LABEL = "gate.daemon";

/** The launchd of this user. */
export function createLaunchd(machine: Machine): ServiceManager {
  const domain = `gui/${userInfo().uid}`;
  const target = `${domain}/${LABEL}`;
  const file = join(machine.home, "Library", "LaunchAgents", `${LABEL}.plist`);
  const launchctl = (...args: string[]) => call(machine.env, "launchctl", args);
  const state = async () => stateOf(await launchctl("print", target));
  const end = async () => {
    await launchctl("bootout", target);
    // bootout returns early, and launchd accepts no program of that name until the old one ended.
    for (let n = 0; (await state()).enabled; n++) {
      if (n === TRIES) throw new CliError(`Cannot stop ${target}: launchd does not end it`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  return {
    name: "launchd",
    file,
    render,
    async obstacle() {
      if ((await launchctl("print", domain)).code === 0) return null;
      const why = "launchd has no session for this user";
      return { why, next: "log in at the screen of this machine, then gate service install" };
    },
    state,
    async activate() {
      if ((await state()).enabled) await end();
      const { code, stderr } = await launchctl("bootstrap", domain, file);
      if (code !== 0) throw new CliError(`launchctl bootstrap failed: ${stderr.trim()}`);
    },
    deactivate: end,
    forget: () => Promise.resolve(),
    // The daemon has its own log file.
    journal: () => Promise.resolve(null),
  };
}

const TRIES = 200;
const PAUSE_MS = 100;

function stateOf({ code, stdout }: { code: number | null; stdout: string }): ServiceState {
  const pid = Number(/^\s*pid = (\d+)$/m.exec(stdout)?.[1] ?? 0);
  const says = /^\s*state = (.+)$/m.exec(stdout)?.[1] ?? "not loaded";
  return { enabled: code === 0, running: pid > 0, pid: pid > 0 ? pid : null, says };
}

function render({ command, args, env, home }: Program): string {
  const words = [command, ...args, "daemon", "run"];
  const output = join(home, "logs", "service.log");
  const variables = Object.entries(env).map(([name, value]) =>
    `    ${key(name)}\n    ${string(value)}\n`
  );
  const environment = variables.length === 0
    ? ""
    : `  ${key("EnvironmentVariables")}\n  <dict>\n${variables.join("")}  </dict>\n`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${MARK} -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  ${key("Label")}
  ${string(LABEL)}
  ${key("ProgramArguments")}
  <array>
${words.map((word) => `    ${string(word)}\n`).join("")}  </array>
${environment}  ${key("RunAtLoad")}
  <true/>
  ${key("KeepAlive")}
  <dict>
    ${key("SuccessfulExit")}
    <false/>
  </dict>
  ${key("ThrottleInterval")}
  <integer>5</integer>
  ${key("ProcessType")}
  ${string("Background")}
  ${key("Umask")}
  <integer>63</integer>
  ${key("StandardOutPath")}
  ${string(output)}
  ${key("StandardErrorPath")}
  ${string(output)}
</dict>
</plist>
`;
}

function key(name: string): string {
  return `<key>${escape(name)}</key>`;
}

function string(text: string): string {
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f]/.test(text)) {
    throw new CliError(`Cannot write "${text}" into a plist: it contains a control character`);
  }
  return `<string>${escape(text)}</string>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

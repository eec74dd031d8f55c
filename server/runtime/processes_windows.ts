import type { ProcessTable } from "./processes.ts";
import { runQuietly } from "./run_quietly.ts";

/** Windows: PowerShell and `netstat`. */
export const WINDOWS: ProcessTable = {
  startTime: (pid) => powershell(`(Get-Process -Id ${pid}).StartTime.ToFileTimeUtc()`),
  command: (pid) =>
    powershell(`(Get-CimInstance Win32_Process -Filter "ProcessId=${pid}").CommandLine`),
  listener: (port) => readListener(runQuietly("netstat", ["-ano", "-p", "TCP"]) ?? "", port),
};

/** The listening process in the output of `netstat -ano`, whose words depend on the language. */
export function readListener(text: string, port: number): number | null {
  for (const line of text.split(/\r?\n/)) {
    const [protocol, local, foreign, ...rest] = line.trim().split(/\s+/);
    const listens = foreign === "0.0.0.0:0" || foreign === "[::]:0";
    if (protocol === "TCP" && listens && local?.endsWith(`:${port}`)) return Number(rest.at(-1));
  }
  return null;
}

function powershell(script: string): string | null {
  return runQuietly("powershell", ["-NoProfile", "-NonInteractive", "-Command", script])?.trim() ||
    null;
}

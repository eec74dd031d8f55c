import { readProgram } from "./read_program.ts";
import type { ListeningPort, ProcessList, RunningProcess } from "./process_list.ts";

/** The processes of macOS and other Unixes, told by `ps` and `lsof`. */
export class MacProcesses implements ProcessList {
  // A start time of `ps` is a date, so it differs between two starts of the machine.
  readonly machine = { boot_id: "", pid_namespace: null };

  async all(): Promise<RunningProcess[]> {
    const fields = "pid=,ppid=,uid=,rss=,lstart=,command=";
    return parsePs(await readProgram("ps", ["-axww", "-o", fields]) ?? "");
  }

  async foldersOf(pids: readonly number[]): Promise<Map<number, string>> {
    if (pids.length === 0) return new Map();
    const text = await readProgram("lsof", ["-a", "-d", "cwd", "-p", pids.join(","), "-Fpn"]);
    return parseFolders(text ?? "");
  }

  /** macOS hides the environment of other programs. */
  variablesOf(): Promise<Record<string, string>> {
    return Promise.resolve({});
  }

  async listening(): Promise<ListeningPort[]> {
    return parseLsof(await readProgram("lsof", ["-nP", "-iTCP", "-sTCP:LISTEN", "-FptPn"]) ?? "");
  }

  lockedFiles(): Promise<null> {
    return Promise.resolve(null);
  }
}

/** The output of `ps -o pid=,ppid=,uid=,rss=,lstart=,command=`. */
export function parsePs(text: string): RunningProcess[] {
  const form = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\w{3} \w{3}\s+\d+ [\d:]{8} \d{4})\s+(.*)$/gm;
  return [...text.matchAll(form)].map(([, pid, ppid, uid, memory, start, command = ""]) => {
    const started_at = Date.parse(`${start} UTC`);
    return {
      pid: Number(pid),
      ppid: Number(ppid),
      uid: Number(uid),
      start_time: start!,
      started_at: Number.isNaN(started_at) ? null : started_at,
      argv: command.trim().split(/\s+/),
      memory_bytes: Number(memory) * 1024,
    };
  });
}

/** The output of `lsof -d cwd -Fpn`. */
export function parseFolders(text: string): Map<number, string> {
  return new Map(
    [...text.matchAll(/^p(\d+)\n(?:f.*\n)?n(.*)$/gm)].map(([, pid, folder]) => [
      Number(pid),
      folder!,
    ]),
  );
}

/** The listening ports in the output of `lsof -F`. */
export function parseLsof(text: string): ListeningPort[] {
  let pid = 0;
  let family: 4 | 6 = 4;
  return text.split("\n").flatMap((line) => {
    const rest = line.slice(1);
    if (line.startsWith("p")) pid = Number(rest);
    else if (line.startsWith("t")) family = rest === "IPv6" ? 6 : 4;
    if (!line.startsWith("n")) return [];
    const [, address = "", port] = /^(.*):(\d+)$/.exec(rest) ?? [];
    if (port === undefined) return [];
    const plain = address.replace(/^\[(.*)\]$/, "$1");
    return [{
      pid,
      port: Number(port),
      address: plain === "*" ? (family === 6 ? "::" : "0.0.0.0") : plain,
      family: plain.includes(":") ? 6 as const : family,
    }];
  });
}

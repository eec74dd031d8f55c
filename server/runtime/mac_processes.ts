import { readProgram } from "./read_program.ts";
import type { ListeningPort, ProcessList, RunningProcess } from "./process_list.ts";

/** The processes of macOS and other Unixes, told by `ps` and `lsof`. */
export class MacProcesses implements ProcessList {
  // A start time of `ps` is a date, so it differs between two starts of the machine.
  readonly machine = { boot_id: "", pid_namespace: null };

  async all(): Promise<RunningProcess[]> {
    const fields = "pid=,ppid=,uid=,rss=,lstart=,command=";
    const [processes, programs] = await Promise.all([
      readProgram("ps", ["-axww", "-o", fields]),
      readProgram("ps", ["-axww", "-o", "pid=,comm="]),
    ]);
    return parsePs(processes ?? "", parsePrograms(programs ?? ""));
  }

  async foldersOf(pids: readonly number[]): Promise<Map<number, string>> {
    if (pids.length === 0) return new Map();
    const args = ["-a", "-d", "cwd", "-p", pids.join(","), "-Fpn"];
    return parseFolders(await readProgram("lsof", args, { is_partial: true }) ?? "");
  }

  /** macOS hides the environment of other programs. */
  variablesOf(): Promise<Record<string, string>> {
    return Promise.resolve({});
  }

  async listening(): Promise<ListeningPort[]> {
    const args = ["-nP", "-iTCP", "-sTCP:LISTEN", "-FptPn"];
    return parseLsof(await readProgram("lsof", args, { is_partial: true }) ?? "");
  }

  lockedFiles(): Promise<null> {
    return Promise.resolve(null);
  }
}

const PROCESS = /^ *(\d+) +(\d+) +(-?\d+) +(\d+) +(\w{3} \w{3} +\d+ [\d:]{8} \d{4}) +(\S.*)$/gm;

/** The output of `ps -o pid=,ppid=,uid=,rss=,lstart=,command=`, with the programs by pid. */
export function parsePs(
  text: string,
  programs: ReadonlyMap<number, string> = new Map(),
): RunningProcess[] {
  return [...text.matchAll(PROCESS)].map(([, pid, ppid, uid, memory, start, command = ""]) => {
    const started_at = Date.parse(`${start} UTC`);
    return {
      pid: Number(pid),
      ppid: Number(ppid),
      uid: Number(uid),
      start_time: start!,
      started_at: Number.isNaN(started_at) ? null : started_at,
      argv: wordsOf(command.trim(), programs.get(Number(pid))),
      memory_bytes: Number(memory) * 1024,
    };
  });
}

/** `ps` does not tell blanks in a name from those between words, except in the name of the program. */
function wordsOf(command: string, program: string | undefined): string[] {
  const isFirst = program !== undefined && program !== "" &&
    (command === program || command.startsWith(`${program} `));
  if (!isFirst) return command.split(/\s+/);
  const rest = command.slice(program.length).trim();
  return [program, ...rest === "" ? [] : rest.split(/\s+/)];
}

/** The output of `ps -o pid=,comm=`. */
export function parsePrograms(text: string): Map<number, string> {
  return new Map(
    [...text.matchAll(/^ *(\d+) +(\S.*?) *$/gm)].map(([, pid, program]) => [Number(pid), program!]),
  );
}

/** The output of `lsof -d cwd -Fpn`. */
export function parseFolders(text: string): Map<number, string> {
  return new Map(
    [...text.matchAll(/^p(\d+)\n(?:f.*\n)?n(.*)$/gm)].map(([, pid, folder]) => [
      Number(pid),
      plain(folder!),
    ]),
  );
}

/** `lsof` writes each byte of a letter that is not ASCII as `\\xNN`. */
function plain(text: string): string {
  return text.replaceAll(
    /(?:\\x[0-9a-f]{2})+/g,
    (bytes) => Buffer.from(bytes.replaceAll("\\x", ""), "hex").toString("utf8"),
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
    if (port === undefined || !(pid > 0)) return [];
    const name = address.replace(/^\[(.*)\]$/, "$1");
    return [{
      pid,
      port: Number(port),
      address: name === "*" ? (family === 6 ? "::" : "0.0.0.0") : name,
      family: name.includes(":") ? 6 as const : family,
    }];
  });
}

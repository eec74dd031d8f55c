import { z } from "zod";
import { readProgram } from "./read_program.ts";
import type { ListeningPort, ProcessList, RunningProcess } from "./process_list.ts";

/** One question takes up to a second, so its answer serves for some time. */
const KEPT_MS = 10_000;

// Otherwise names in other scripts come in the code page of the console.
const QUESTION =
  "[Console]::OutputEncoding = [Text.Encoding]::UTF8; Get-CimInstance Win32_Process | " +
  "Select-Object ProcessId,ParentProcessId,CreationDate,CommandLine,ExecutablePath,WorkingSetSize" +
  " | ConvertTo-Json -Compress";

/** The processes of Windows, told by CIM and `netstat`. */
export class WindowsProcesses implements ProcessList {
  readonly machine = { boot_id: "", pid_namespace: null };
  #kept: { until: number; answer: Promise<RunningProcess[]> } | null = null;

  all(): Promise<RunningProcess[]> {
    if (this.#kept === null || this.#kept.until < performance.now()) {
      const args = ["-NoProfile", "-NonInteractive", "-Command", QUESTION];
      const answer = readProgram("powershell", args).then((text) => parseCim(text ?? ""));
      this.#kept = { until: performance.now() + KEPT_MS, answer };
    }
    return this.#kept.answer;
  }

  /** Windows tells no program the folder of another one. */
  foldersOf(): Promise<Map<number, string>> {
    return Promise.resolve(new Map());
  }

  variablesOf(): Promise<Record<string, string>> {
    return Promise.resolve({});
  }

  async listening(): Promise<ListeningPort[]> {
    // With `-p TCP` it leaves out IPv6.
    return parseNetstat(await readProgram("netstat", ["-ano"]) ?? "");
  }

  lockedFiles(): Promise<null> {
    return Promise.resolve(null);
  }
}

const CimProcess = z.object({
  ProcessId: z.number(),
  ParentProcessId: z.number(),
  CreationDate: z.string().nullish(),
  CommandLine: z.string().nullish(),
  ExecutablePath: z.string().nullish(),
  WorkingSetSize: z.number().nullish(),
});

/** The answer of CIM about `Win32_Process`; one process is no list. */
export function parseCim(text: string): RunningProcess[] {
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return [];
  }
  const rows = (Array.isArray(json) ? json : [json]).flatMap((row) => {
    const { success, data } = CimProcess.safeParse(row);
    return success ? [data] : [];
  });
  const began = new Map(rows.map((row) => [row.ProcessId, dateOf(row.CreationDate)]));
  return rows.map((row) => {
    const started_at = dateOf(row.CreationDate);
    const parent = began.get(row.ParentProcessId);
    // Windows keeps the number of a parent that has ended, and a later process may have it.
    const isParent = parent != null && started_at !== null && parent <= started_at;
    return {
      pid: row.ProcessId,
      ppid: isParent ? row.ParentProcessId : 0,
      uid: null,
      start_time: String(started_at ?? ""),
      started_at,
      argv: wordsOf(row.CommandLine ?? row.ExecutablePath ?? ""),
      memory_bytes: row.WorkingSetSize ?? null,
    };
  });
}

/** The listening ports in the output of `netstat -ano`, whose words depend on the language. */
export function parseNetstat(text: string): ListeningPort[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const [protocol, local = "", foreign, ...rest] = line.trim().split(/\s+/);
    const listens = foreign === "0.0.0.0:0" || foreign === "[::]:0";
    const [, address = "", port] = /^(.*):(\d+)$/.exec(local) ?? [];
    const pid = rest.at(-1) ?? "";
    if (protocol !== "TCP" || !listens || port === undefined || !/^[1-9]\d*$/.test(pid)) return [];
    return [{
      pid: Number(pid),
      port: Number(port),
      address: address.replace(/^\[(.*)\]$/, "$1"),
      family: address.startsWith("[") ? 6 as const : 4 as const,
    }];
  });
}

function dateOf(text: string | null | undefined): number | null {
  const ticks = /^\/Date\((\d+)\)\/$/.exec(text ?? "")?.[1];
  const at = ticks === undefined ? Date.parse(text ?? "") : Number(ticks);
  return Number.isNaN(at) ? null : at;
}

function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

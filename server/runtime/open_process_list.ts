import process from "node:process";
import { LinuxProcesses } from "./linux_processes.ts";
import { MacProcesses } from "./mac_processes.ts";
import type { ProcessList } from "./process_list.ts";
import { WindowsProcesses } from "./windows_processes.ts";

/** The processes of this machine. */
export function openProcessList(): ProcessList {
  if (process.platform === "linux") return new LinuxProcesses();
  if (process.platform === "win32") return new WindowsProcesses();
  return new MacProcesses();
}

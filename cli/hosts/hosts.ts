import { existsSync } from "node:fs";
import type { AgentHost, Format } from "../../server/hosts/host.ts";
import { HOSTS } from "../../server/hosts/hosts.ts";
import { COMMENTED_JSON_TEXT, JSON_TEXT, JSONC_TEXT } from "./edit/json_text.ts";
import type { TextEditor } from "./edit/text_editor.ts";
import { TOML_TEXT } from "./edit/toml_text.ts";
import { absolutePath, findProgram, type HostFile, locate, type Machine } from "./machine.ts";

/** The editor for each format of a host's files. */
export const EDITORS: Record<Format, TextEditor> = {
  json: JSON_TEXT,
  jsonc: JSONC_TEXT,
  "json-with-comments": COMMENTED_JSON_TEXT,
  toml: TOML_TEXT,
};

/** The config files of a host for this user, the usual one first. */
export function userFiles({ mcp }: AgentHost, machine: Machine): HostFile[] {
  return mcp.user_files.flatMap((file) => locate(file, machine));
}

/** The same, with the other names of those files: old entries may be there. */
export function everyUserFile(host: AgentHost, machine: Machine): string[] {
  const others = host.mcp.user_files.flatMap(({ path, or }) => or === undefined ? [] : [path, or]);
  return [
    ...userFiles(host, machine).map(({ path }) => path),
    ...others.map((path) => absolutePath(path, machine)),
  ];
}

/** The config files of a host that this machine has; none when it lacks the host. */
export function filesInUse(host: AgentHost, machine: Machine): string[] {
  const files = userFiles(host, machine);
  const used = files.filter(({ path, sign }) => existsSync(path) || existsSync(sign));
  if (used.length > 0) return used.map(({ path }) => path);
  const isInstalled = host.program !== null && findProgram(machine, host.program) !== null;
  return isInstalled ? [files[0]!.path] : [];
}

/** The host with this platform id. */
export function hostById(id: string): AgentHost {
  return HOSTS.find((host) => host.id === id)!;
}

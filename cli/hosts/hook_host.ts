import { HOST_TIMEOUT_S } from "../hook/deadlines.ts";
import type { TextEditor } from "./edit/text_editor.ts";
import type { HostFile, Platform } from "./host.ts";
import type { Machine } from "./machine.ts";

/** The hooks of an agent host: where they are written down, and how one looks there. */
export interface HookHost {
  id: Platform;
  editor: TextEditor;
  /** Its file for this user. */
  file(machine: Machine): HostFile;
  /** Its file in a project, relative to the root. */
  project_file: string;
  /** What has to stand beside the hooks. */
  frame: Record<string, unknown>;
  /** Whether it keeps hooks in groups with a matcher. */
  is_grouped: boolean;
  events: HookEvent[];
  entry(command: string, event: HookEvent, machine: Pick<Machine, "os">): HookEntry;
  /** What a person has to do before it takes effect. */
  afterwards: string;
}

/** An event that gate answers: before a tool, where a failure must refuse, or after one. */
export interface HookEvent {
  name: string;
  is_before: boolean;
}

/** One hook: what has to be so, and how long the host has to wait at least. */
export interface HookEntry {
  must: Record<string, unknown>;
  at_least: Record<string, number>;
}

export const before = (name: string): HookEvent => ({ name, is_before: true });
export const after = (name: string): HookEvent => ({ name, is_before: false });

const REPORT_TIMEOUT_S = 30;

/** How long the host has to wait for the answer, in seconds: longer than `gate hook` ever takes. */
export function timeoutOf({ is_before }: HookEvent): number {
  return is_before ? HOST_TIMEOUT_S : REPORT_TIMEOUT_S;
}

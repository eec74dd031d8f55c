import type { FileState } from "../runtime/files.ts";
import type { Target } from "./target.ts";

/** One file that an action touches, as policy is asked about it. */
export interface Access {
  access: "read" | "write" | "delete";
  target: Target;
}

/** What is to stand at a path; the content is kept under its hash. */
export interface NewState {
  sha256: string;
  bytes: number;
  /** Null keeps the mode of the old file, or is that of an ordinary new one. */
  mode: number | null;
}

/** One file that changes, from what to what; null is no file. */
export interface PlannedChange {
  /** The real path. */
  path: string;
  shown: string;
  before: FileState | null;
  after: NewState | null;
}

/** A file that the shell or an interpreter is going to run. */
export interface Script {
  path: string;
  sha256: string;
}

/** An input understood, before anything but names has been looked up. */
export interface Asked {
  tool: string;
  path: string | null;
  command: string | null;
  /** The real path of the folder that a command runs in. */
  cwd: string | null;
  accesses: Access[];
  /** The input, without what is kept elsewhere. */
  input: Record<string, unknown>;
  /** Names the whole input of a tool that the gate only records: what is kept of it is cut. */
  input_sha256: string | null;
}

/** What exactly is going to be done: an approval is given to this and nothing else. */
export interface Plan extends Asked {
  changes: PlannedChange[];
  scripts: Script[];
  /** Folders that were made for the change that is undone, outermost first: removed where empty. */
  emptied_folders: string[];
}

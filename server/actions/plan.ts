import type { FileState } from "../runtime/file_image.ts";
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
  /** What a host makes of it was not known beforehand; `after` is then what stood there. */
  guessed?: true;
}

/** A file that the shell or an interpreter is going to run. */
export interface Script {
  path: string;
  sha256: string;
}

/** A folder with its permission bits. */
export interface FolderState {
  path: string;
  mode: number;
}

/** A file as it stood before a command, its content kept. */
export interface KeptFile {
  /** The real path. */
  path: string;
  shown: string;
  before: FileState;
}

/** What stood where a command writes and deletes, before it began. */
export interface Snapshot {
  /** The head of the chain then: what another action changes after it is not the command's. */
  seq: number;
  files: KeptFile[];
  folders: FolderState[];
  /** Nothing stood there. */
  absent: string[];
  /** Something stood there that is not kept. */
  unkept: string[];
  /** Whether everything was found. */
  is_whole: boolean;
  /** What the command may do besides, or what is not kept, in words. */
  gaps: string[];
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
  /** A call of a host's own tool: the gate decides and records, the host carries out. */
  native?: Native;
}

/** What is known of a host's call besides what it does. */
export interface Native {
  /** Tells this submission from an equal one. */
  id: string;
  /** The host's own name of this one call. */
  key: string | null;
  /** Folders that have to be made for it, outermost first. */
  new_folders: string[];
}

/** What exactly is going to be done: an approval is given to this and nothing else. */
export interface Plan extends Asked {
  changes: PlannedChange[];
  scripts: Script[];
  /** Folders that were made for the change that is undone, outermost first: removed where empty. */
  emptied_folders: string[];
  /** Folders that are to stand before anything is written, outermost first. */
  restored_folders?: FolderState[];
  /** Folders whose permission bits change. */
  folder_modes?: { path: string; before: number; after: number }[];
  /** Of a command: real paths of what it would change, as far as they are known. */
  reach?: string[];
  /** Of a command that has begun. */
  snapshot?: Snapshot;
  /** Of a command that has ended: the folders that came and went with it, outermost first. */
  folders?: { made: FolderState[]; removed: FolderState[] };
}

import { sha256 } from "../db/chain.ts";
import { canonical } from "../evidence/canonical.ts";
import type { Program } from "../runtime/find_program.ts";
import type { AskedHost } from "../sandbox/schema.ts";
import type { Searched } from "../policy/request.ts";
import type { Analysis, Decision, Sandbox } from "../policy/schema.ts";
import type { Risk } from "../risk/schema.ts";
import type { FileState } from "../runtime/file_image.ts";
import type { Restored } from "./guarding/restore.ts";
import type { Target } from "./submit/target.ts";

/** One access to a file, as policy evaluates it. */
export interface Access {
  access: "read" | "write" | "delete";
  target: Target;
  /** For a search: the files below the target that it reads. */
  below?: Searched;
}

/** The planned state of a file. The ledger keeps the content under its hash. */
export interface NewState {
  sha256: string;
  bytes: number;
  /** Null keeps the old file's mode; a new file gets the default mode. */
  mode: number | null;
}

/** One file change, from one state to another. Null means that there is no file. */
export interface PlannedChange {
  /** The real path. */
  path: string;
  shown: string;
  before: FileState | null;
  after: NewState | null;
  /** Only the host knows the result; `after` repeats `before`. */
  guessed?: true;
}

/** A file that the shell or an interpreter runs. */
export interface Script {
  path: string;
  sha256: string;
}

/** A folder with its permission bits. */
export interface FolderState {
  path: string;
  mode: number;
}

/** The state of a file before a command. The ledger keeps its content. */
export interface KeptFile {
  /** The real path. */
  path: string;
  shown: string;
  before: FileState;
}

/** The files and folders that a command may change, before it started. */
export interface Snapshot {
  /** The head of the audit chain then. Later changes by other actions do not count as its effects. */
  seq: number;
  files: KeptFile[];
  folders: FolderState[];
  /** Paths where nothing existed. */
  absent: string[];
  /** Paths where something existed whose content is not kept. */
  unkept: string[];
  /** The real paths where the search began. */
  starts?: string[];
  /** Whether the search was complete. */
  is_whole: boolean;
  /** Sentences: which effects are unknown, which contents are not kept. */
  gaps: string[];
}

/** A validated tool input with resolved paths, before any file is read. */
export interface ParsedInput {
  tool: string;
  path: string | null;
  command: string | null;
  /** The real path of a command's working folder. */
  cwd: string | null;
  accesses: Access[];
  /** The input without the content, which the ledger keeps under its hash. */
  input: Record<string, unknown>;
  /** Hash of the whole input of a tool that the gate only records: `input` is redacted and cut. */
  input_sha256: string | null;
  /** Where the programs of a command are found; default: where this process finds them. */
  search_path?: string;
  /** Marks a call of a host's own tool: the gate decides and records, the host executes. */
  native?: Native;
  /** Of a plan: the actions that follow. */
  lease?: { steps: readonly { plan: ParsedInput }[] };
}

/** The actions that a person approves together: each may be submitted once, in this order. */
export interface Lease {
  title: string;
  /** How long the approval holds. */
  seconds: number;
  steps: LeasedStep[];
}

/** One action of a lease. */
export interface LeasedStep {
  plan: Plan;
  digest: string;
  /** The questions of the policy about it; an approval answers these and no others. */
  questions: string[];
  decision: Decision;
  analysis: Analysis | null;
  risk: Risk;
}

/** Changes of a command that gate does not take over: the first ones, and how many there are. */
export interface LeftOutFiles {
  files: { path: string; why: string }[];
  count: number;
}

/** The state of the changes that a command made to its copy of the project. */
export interface HeldBack {
  /** The action that waits for a person; null if nothing waits. */
  action_id: string | null;
  /** How many files wait. */
  files: number;
  /** Why nothing waits although the command ran; null if it changed nothing, or something waits. */
  why: string | null;
  left_out: LeftOutFiles;
}

/** A call of a host's own tool. */
export interface Native {
  /** Tells this submission from an equal one. */
  id: string;
  /** The host's own name for this call. */
  key: string | null;
  /** Folders that the call creates, outermost first. */
  new_folders: string[];
  /** Its host runs what gate puts in its place, so the sandbox can hold the command. */
  walled?: true;
}

/** A program file that a held command would start, and whether an agent can change it. */
export interface PlannedProgram extends Program {
  /** Where the path leads, if a link is on the way. */
  real?: string;
  /** The file or the link lies in a folder that agents can write. */
  changeable?: "project" | "temporary";
}

/** The texts of a refused action of which the ledger keeps an excerpt, with what the whole was. */
export type Shortened = {
  [name in "command" | "input" | "accesses"]?: { bytes: number; sha256: string };
};

/** Exactly what would be done. An approval holds for this plan only. */
export interface Plan extends ParsedInput {
  changes: PlannedChange[];
  scripts: Script[];
  /** The program files of a command that runs without a shell. */
  programs?: PlannedProgram[];
  /** Of a rollback: folders that the action had created, outermost first. Empty ones are removed. */
  emptied_folders: string[];
  /** Folders that must exist before any file is written, outermost first. */
  restored_folders?: FolderState[];
  /** Folders whose permission bits change. */
  folder_modes?: { path: string; before: number; after: number }[];
  /** Of a held command: the sandbox in which it would run even then. */
  sandbox?: Sandbox;
  /** Of a command: known real paths that it would change. */
  reach?: string[];
  /** Of a command that has started. */
  snapshot?: Snapshot;
  /** Of a finished command: guarded files that changed without permission while it ran. */
  restored?: Restored[];
  /** Of a finished command: the hosts that it asked for in the sandbox. */
  asked_hosts?: AskedHost[];
  /** Of a finished command whose changes were held back. */
  held_back?: HeldBack;
  /** Of changes that gate takes over: the command that made them. */
  taken_from?: { action_id: string; command: string; left_out: LeftOutFiles };
  /** Of a finished command: folders that it created and removed, outermost first. */
  folders?: { made: FolderState[]; removed: FolderState[] };
  /** Of a plan: the actions that follow. */
  lease?: Lease;
  /** Of a refused action: the texts of which only an excerpt is kept. */
  shortened?: Shortened;
}

/** Everything that an approval depends on. Its SHA-256 in RFC 8785 form is the digest. */
export function signedOf(plan: Plan) {
  const { tool, command, cwd, scripts, input, input_sha256 } = plan;
  const changes = plan.changes.map(({ path, before, after, guessed }) => ({
    path,
    before: before?.sha256 ?? null,
    after: after && { sha256: after.sha256, mode: after.mode },
    ...guessed && { guessed },
  }));
  const accesses = plan.accesses.map(({ access, target }) => ({ access, path: target.real }));
  // A reviewer sees a shortened copy of a long or secret input, so the digest covers the copy too.
  const isShort = input_sha256 !== null && sha256(JSON.stringify(input)) !== input_sha256;
  const folders = foldersIn(plan);
  const outside_because = plan.native ? null : wantsOutside(plan);
  const isFolders = Object.values(folders).some((all) => all.length > 0);
  return {
    ...{ tool, command, cwd, scripts, changes, accesses, input_sha256 },
    ...isShort && { input },
    ...isFolders && { folders },
    ...plan.programs && { programs: plan.programs },
    ...plan.sandbox && { sandbox: plan.sandbox },
    ...outside_because !== null && { outside_because },
    ...plan.lease && { lease: signedLease(plan.lease) },
  };
}

function signedLease({ title, seconds, steps }: Lease) {
  return {
    title,
    seconds,
    steps: steps.map(({ digest, questions }) => ({ digest, questions })),
  };
}

/** Why the agent wants a command to run outside the sandbox; null if it does not. */
export function wantsOutside({ tool, input }: Pick<ParsedInput, "tool" | "input">): string | null {
  if (tool !== "run_command" || input.outside_sandbox !== true) return null;
  return String(input.reason ?? "");
}

/** SHA-256 of the canonical JSON (RFC 8785) of all fields that an approval depends on. */
export function digestOf(plan: Plan): string {
  return sha256(canonical(signedOf(plan)));
}

/** The folders that the execution of a plan creates, changes or removes. */
export function foldersIn({ emptied_folders, restored_folders, folder_modes }: Plan) {
  return {
    emptied_folders,
    restored_folders: restored_folders ?? [],
    folder_modes: folder_modes ?? [],
  };
}

/** Whether a plan changes any file or folder. */
export function changesAnything(plan: Plan): boolean {
  const { changes, emptied_folders, restored_folders = [], folder_modes = [], folders } = plan;
  const made = [...folders?.made ?? [], ...folders?.removed ?? [], ...folder_modes];
  return changes.length + emptied_folders.length + restored_folders.length + made.length > 0;
}

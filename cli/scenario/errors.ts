/** Exit codes of the scenario tool. Only a critical failure of an executed scenario gives 2. */
export const EXIT = { passed: 0, failed: 1, critical: 2, error: 3 } as const;

/** Ends the tool with exit 3: wrong usage, an unreadable source, an unreachable target. */
export class ToolError extends Error {
  /** The command or option to try next. */
  readonly next: string;

  constructor(message: string, { next, cause }: { next: string; cause?: unknown }) {
    super(message, { cause });
    this.name = "ToolError";
    this.next = next;
  }
}

/** What to do about a target that gives no answer. */
export const LOOK_AT_TARGET = "look at what the target logs, and start it again";
/** What to do about a file that says something wrong. */
export const CORRECT_IT = "correct it there, then the same command";
/** What to do about a file that cannot be read. */
export const GIVE_A_FILE = "give a file that you may read, by its path from this folder";
/** What to do about a file that cannot be written. */
export const GIVE_A_PLACE = "give a path that you may write to, and make room there";

/** Returns what `work` returns. @throws ToolError `Cannot <task>: <cause>` when it throws */
export function attempt<T>(task: string, next: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new ToolError(`Cannot ${task}: ${(cause as Error).message}`, { next, cause });
  }
}

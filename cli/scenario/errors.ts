/** Exit codes of the scenario tool. Only a critical failure of an executed scenario gives 2. */
export const EXIT = { passed: 0, failed: 1, critical: 2, error: 3 } as const;

/** Ends the tool with exit 3: wrong usage, an unreadable source, an unreachable target. */
export class ToolError extends Error {
  /** The command or option to try next. */
  readonly next: string | null;

  constructor(message: string, options: { next?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = "ToolError";
    this.next = options.next ?? null;
  }
}

/** Returns what `work` returns. @throws ToolError `Cannot <task>: <cause>` when it throws */
export function attempt<T>(task: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new ToolError(`Cannot ${task}: ${(cause as Error).message}`, { cause });
  }
}

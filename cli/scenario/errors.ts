/** Exit codes of the scenario tool: 2 only ever means that something critical broke. */
export const EXIT = { passed: 0, failed: 1, critical: 2, error: 3 } as const;

/** Ends the tool with exit 3: wrong usage, an unreadable source, a target that never answered. */
export class ToolError extends Error {
  /** What to type or mend next. */
  readonly next: string | null;

  constructor(message: string, options: { next?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = "ToolError";
    this.next = options.next ?? null;
  }
}

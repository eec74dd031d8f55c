import type { Io } from "../io.ts";

const PATIENCE_MS = 1_000;

/** Waits for work; after a second a person at a terminal sees that something goes on. */
export async function withSpinner<T>(io: Io, what: string, work: () => Promise<T>): Promise<T> {
  const running = work();
  if (!io.stderr.isTTY) return await running;
  let spinner: { stop: (message?: string) => void } | null = null;
  const timer = setTimeout(async () => {
    const { spinner: createSpinner } = await import("@clack/prompts");
    const created = createSpinner({ output: io.stderr });
    created.start(what);
    spinner = created;
  }, PATIENCE_MS);
  try {
    return await running;
  } finally {
    clearTimeout(timer);
    (spinner as { stop: (message?: string) => void } | null)?.stop(what);
  }
}

import type { Io } from "../io.ts";
import { typedInput } from "./typing.ts";

/** Asks a yes-or-no question; Return alone means `initialValue`, and cancelling means no. */
export async function isConfirmed(
  io: Io,
  message: string,
  initialValue = false,
): Promise<boolean> {
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({
    input: typedInput(io),
    output: io.stdout,
    message,
    initialValue,
  });
  return !isCancel(answer) && answer;
}

const SPINNER_DELAY_MS = 1_000;

/** Waits for `work`; on a terminal a spinner appears after a second. */
export async function withSpinner<T>(io: Io, label: string, work: () => Promise<T>): Promise<T> {
  const running = work();
  if (!io.stderr.isTTY) return await running;
  let spinner: { stop: (message?: string) => void } | null = null;
  const timer = setTimeout(async () => {
    const { spinner: createSpinner } = await import("@clack/prompts");
    const created = createSpinner({ output: io.stderr });
    created.start(label);
    spinner = created;
  }, SPINNER_DELAY_MS);
  try {
    return await running;
  } finally {
    clearTimeout(timer);
    (spinner as { stop: (message?: string) => void } | null)?.stop(label);
  }
}

import type { Io } from "../io.ts";
import { typedInput } from "./typing.ts";

/** Asks a yes-or-no question; Return alone means `initialValue`, and cancelling means no. */
export async function isConfirmed(
  io: Io,
  message: string,
  initialValue = false,
): Promise<boolean> {
  const { confirm, isCancel } = await import("./questions.ts");
  const answer = await confirm({
    input: typedInput(io),
    output: io.stdout,
    message,
    initialValue,
  });
  return !isCancel(answer) && answer;
}

/** Asks a person to type this text; false if they cancel. Another text is asked for again. */
export async function isTyped(io: Io, message: string, wanted: string): Promise<boolean> {
  const { isCancel, text } = await import("./questions.ts");
  const answer = await text({
    input: typedInput(io),
    output: io.stdout,
    message,
    validate: (value = "") => value === wanted ? undefined : `Type ${wanted}, or press Ctrl-C`,
  });
  return !isCancel(answer);
}

const SPINNER_DELAY_MS = 1_000;

/** Tells how far the work is, in place of the label. */
export type Tell = (progress: string) => void;

/** Waits for `work`; on a terminal a spinner appears after a second, with the progress that it tells. */
export async function withSpinner<T>(
  io: Io,
  label: string,
  work: (tell: Tell) => Promise<T>,
): Promise<T> {
  if (!io.stderr.isTTY) return await work(() => {});
  let spinner: { message: (text: string) => void; stop: (text: string) => void } | null = null;
  let shown = label;
  const timer = setTimeout(async () => {
    const { spinner: createSpinner } = await import("./questions.ts");
    const created = createSpinner({ output: io.stderr });
    created.start(shown);
    spinner = created;
  }, SPINNER_DELAY_MS);
  try {
    return await work((progress) => {
      shown = `${label}: ${progress}`;
      spinner?.message(shown);
    });
  } finally {
    clearTimeout(timer);
    (spinner as { stop: (text: string) => void } | null)?.stop(label);
  }
}

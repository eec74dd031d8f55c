import type { Io } from "../io.ts";
import { typedInput } from "./typing.ts";
import { fitVisible } from "./visible.ts";

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

/** The spinner of the work that a command waits for. */
const spinners = new WeakMap<Io, Spinner>();

/** Waits for `work`; on a terminal a spinner appears after a second, with the progress that it tells. */
export async function withSpinner<T>(
  io: Io,
  label: string,
  work: (tell: Tell) => Promise<T>,
): Promise<T> {
  if (!io.stderr.isTTY) return await work(() => {});
  return await withoutSpinner(io, async () => {
    const spinner = new Spinner(io, label);
    spinners.set(io, spinner);
    try {
      return await work((progress) => spinner.text = `${label}: ${progress}`);
    } finally {
      spinner.hide();
      spinners.delete(io);
    }
  });
}

/** One line of standard error that moves. It leaves standard input alone, which may hide what is typed. */
class Spinner {
  text: string;
  readonly #io: Io;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turns = 0;

  constructor(io: Io, text: string) {
    this.#io = io;
    this.text = text;
    this.showLater();
  }

  showLater(): void {
    this.#timer = setTimeout(() => this.#turn(), SPINNER_DELAY_MS);
  }

  hide(): void {
    clearTimeout(this.#timer);
    if (this.#turns > 0) this.#io.stderr.write(CLEAR_LINE);
    this.#turns = 0;
  }

  #turn(): void {
    const { stderr } = this.#io;
    const frame = FRAMES[this.#turns++ % FRAMES.length]!;
    const room = Math.max(1, (stderr.columns ?? 80) - 4);
    stderr.write(`${CLEAR_LINE}${frame}  ${fitVisible(this.text, room)}`);
    this.#timer = setTimeout(() => this.#turn(), TURN_MS);
  }
}

const FRAMES = "◒◐◓◑";
const TURN_MS = 120;
const CLEAR_LINE = "\r\x1b[2K";

/** Asks a person something that a work waits for, or does a part of it: its spinner is hidden meanwhile. */
export async function withoutSpinner<T>(io: Io, work: () => Promise<T>): Promise<T> {
  const spinner = spinners.get(io);
  spinner?.hide();
  try {
    return await work();
  } finally {
    if (spinner) spinners.set(io, spinner);
    spinner?.showLater();
  }
}

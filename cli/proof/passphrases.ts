import { refusePassphrase } from "../../server/proof/passphrase.ts";
import { CliError, EXIT } from "../errors.ts";
import type { Io, Terminal } from "../io.ts";
import { readLines } from "../terminal/input.ts";
import { withoutSpinner } from "../terminal/prompts.ts";
import { hideTyping, typedInput } from "../terminal/typing.ts";

/** The option of every command that may need a person's passphrase. */
export const PASSPHRASE_STDIN = [
  "--passphrase-stdin",
  "read the passphrase from the first line of standard input",
] as const;

/** The option of commands in which a member decides at the terminal of somebody else. */
export const AS = [
  "--as <member>",
  "decide as this member, who proves it with their own passphrase",
] as const;

/** The parsed form of `PASSPHRASE_STDIN`. */
export interface PassphraseOptions {
  passphraseStdin?: boolean | undefined;
}

/** Reads one passphrase after the other, from standard input or from a person at a terminal. */
export class Passphrases {
  readonly #io: Io;
  readonly #lines: AsyncGenerator<string> | null;

  /**
   * With options, the command decides: from now on the terminal does not show what is typed. Without
   * options it seldom asks, so that begins with the question.
   */
  constructor(io: Io, options?: PassphraseOptions) {
    this.#io = io;
    this.#lines = options?.passphraseStdin ? readLines(io.stdin) : null;
    if (options && this.isTyped && canAskPassphrase(io)) hideTyping(io);
  }

  /** Whether a person types them and can correct a mistake. */
  get isTyped(): boolean {
    return this.#lines === null;
  }

  /** The present passphrase. @throws CliError if nobody gives one */
  async read(message: string): Promise<string> {
    return this.#lines ? await this.#readLine() : await this.#ask(message);
  }

  /** A new passphrase of enough characters; a person types it twice. @throws CliError */
  async readNew(): Promise<string> {
    if (this.#lines) {
      const given = await this.#readLine();
      const why = refusePassphrase(given);
      if (why === null) return given;
      throw new CliError(`Cannot use the passphrase: ${why}`, { exit: EXIT.usage });
    }
    for (let message = "New passphrase";; message = "They differ. New passphrase") {
      const first = await this.#ask(message, refusePassphrase);
      if (await this.#ask("The same passphrase again") === first) return first;
    }
  }

  async #readLine(): Promise<string> {
    if (this.#io.stdin.isTTY) throw typedIntoStdin();
    const { value } = await this.#lines!.next();
    const line = value?.replace(/\r$/, "");
    if (line) return line;
    throw new CliError("Cannot read the passphrase: standard input has no line left for it", {
      next: "printf '%s\\n' \"$PASSPHRASE\" | the same command",
      exit: EXIT.usage,
    });
  }

  async #ask(message: string, refuse?: (typed: string) => string | null): Promise<string> {
    const output = screenOf(this.#io);
    if (output === null) throw unaskable();
    hideTyping(this.#io);
    const { isCancel, password } = await import("../terminal/questions.ts");
    const typed = await withoutSpinner(this.#io, () =>
      password({
        message,
        mask: "",
        input: typedInput(this.#io),
        output,
        validate: (value = "") => {
          const why = refuse?.(value) ?? (value === "" ? "it is empty" : null);
          return why === null ? undefined : `Cannot use it: ${why}`;
        },
      }));
    if (!isCancel(typed)) return typed;
    throw new CliError("Cannot go on: you gave no passphrase; nothing changed");
  }
}

/** Whether a person can be asked for a passphrase. */
export function canAskPassphrase(io: Io): boolean {
  return screenOf(io) !== null;
}

/** The output for a question: standard error if standard output goes to a program; null for none. */
function screenOf(io: Io): Terminal | null {
  if (io.stdin.isTTY !== true || io.env.CI) return null;
  return [io.stdout, io.stderr].find((stream) => stream.isTTY) ?? null;
}

// A terminal would show what is typed.
function typedIntoStdin(): CliError {
  return new CliError("Cannot use --passphrase-stdin: standard input is a terminal", {
    next: "the same command without --passphrase-stdin, which asks",
    exit: EXIT.usage,
  });
}

function unaskable(): CliError {
  const why = "there is no terminal to ask for the passphrase";
  return new CliError(`Cannot prove that a person decides: ${why}`, {
    next: "the same command in a terminal, or with --passphrase-stdin",
    exit: EXIT.usage,
  });
}

import type { Action } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { NotSigned } from "../../server/proof/not_signed.ts";
import { approve } from "../actions/approve.ts";
import { Cards } from "../actions/cards.ts";
import { summarize } from "../actions/view.ts";
import { type Connection, scopedClient } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { count, paint, print } from "../terminal/output.ts";
import { discardTyped, hideTyping, readKey, typedInput } from "../terminal/typing.ts";
import { visibleLine } from "../terminal/visible.ts";

/** The held actions of one moment, oldest first, and the connection that decides on them. */
export interface Held {
  held: Action[];
  connection: Connection;
}

/** One key of `gate watch`. */
interface Key {
  /** The key and its other names, such as arrow keys. */
  keys: string[];
  name: string;
  does: string;
  /** The word in the footer. */
  word: string;
}

const KEYS = {
  approve: { keys: ["a"], name: "a", word: "approve", does: "approve the action that is shown" },
  reject: { keys: ["r"], name: "r", word: "reject", does: "reject it and give the agent a reason" },
  edit: { keys: ["e"], name: "e", word: "edit", does: "edit it in $EDITOR, approve the result" },
  next: {
    keys: ["j", "\x1b[B"],
    name: "j",
    word: "next",
    does: "show the next one; it stays held",
  },
  previous: { keys: ["k", "\x1b[A"], name: "k", word: "previous", does: "show the one before" },
  help: { keys: ["?"], name: "?", word: "help", does: "show what the keys do" },
  quit: { keys: ["q", "\x03", "\x04"], name: "q", word: "quit", does: "quit; Ctrl-C does, too" },
} satisfies Record<string, Key>;

type Deed = keyof typeof KEYS;

/**
 * Shows one held action after the other to a person, and does what the keys say, until the person
 * quits or the queue ends.
 */
export async function reviewHeld(io: Io, queue: AsyncIterator<Held>): Promise<void> {
  hideTyping(io);
  const desk = new Desk(io);
  print(io, paint(io, "dim", "Waiting for held actions. ? shows the keys, q ends this command."));
  let coming = queue.next();
  let key: Promise<string> | null = null;
  for (;;) {
    key ??= readKey(io);
    const event = await Promise.race([
      coming.then((found) => ({ found })),
      key.then((pressed) => ({ pressed })),
    ]);
    if ("found" in event) {
      if (event.found.done) return;
      await desk.update(event.found.value);
      coming = queue.next();
      continue;
    }
    key = null;
    if (await desk.press(event.pressed) === "quit") return;
  }
}

class Desk {
  readonly #io: Io;
  readonly #cards: Cards;
  #held: Action[] = [];
  #connection: Connection | null = null;
  /** The place of the shown action in the list. */
  #at = 0;
  #shown: Action | null = null;
  /** Whether the digest of the shown action covers its card; nobody can sign another one. */
  #isSound = true;

  constructor(io: Io) {
    this.#io = io;
    this.#cards = new Cards(io, { isRead: true });
  }

  /** Takes the present list. The shown action stays unless somebody has decided on it. */
  async update({ held, connection }: Held): Promise<void> {
    const known = new Set(this.#held.map(({ id }) => id));
    const news = held.filter(({ id }) => !known.has(id));
    this.#held = held;
    this.#connection = connection;
    const at = held.findIndex(({ id }) => id === this.#shown?.id);
    if (at < 0) return await this.#show(this.#at);
    this.#at = at;
    for (const action of news) {
      print(this.#io, paint(this.#io, "yellow", `+ held: ${summarize(action)}`));
    }
    if (news.length > 0) this.#ask();
  }

  async press(key: string): Promise<"quit" | "on"> {
    const [deed] = Object.entries(KEYS).find(([, { keys }]) => keys.includes(key)) ?? [];
    if (deed === "quit") return "quit";
    if (deed === "help") {
      this.#help();
      return "on";
    }
    if (deed === undefined || this.#shown === null) return "on";
    if (deed === "next" || deed === "previous") await this.#move(deed === "next" ? 1 : -1);
    else if (this.#allows(deed as Deed)) await this.#decide(deed as Deed, this.#shown);
    return "on";
  }

  async #move(by: 1 | -1): Promise<void> {
    const to = this.#at + by;
    if (to >= 0 && to < this.#held.length) return await this.#show(to);
    print(this.#io, by > 0 ? "This is the last one." : "This is the first one.");
    this.#ask();
  }

  /** Decides on the shown version of the action. A refusal is printed, and the action stays. */
  async #decide(deed: Deed, action: Action): Promise<void> {
    try {
      const isDone = deed === "reject"
        ? await this.#reject(action)
        : await this.#approve(deed, action);
      if (!isDone) return this.#ask();
    } catch (error) {
      // Without the right passphrase the action stays held, and the person can try again.
      this.#tell(error);
      return this.#ask();
    }
    this.#held = this.#held.filter(({ id }) => id !== action.id);
    await this.#show(this.#at);
  }

  async #approve(deed: Deed, { id, digest }: Action): Promise<boolean> {
    await approve(this.#io, this.#connection!, id, {
      digest,
      cards: this.#cards,
      ...deed === "edit" && { edit: true },
    });
    return true;
  }

  async #reject({ id, digest: expected_digest, project_id }: Action): Promise<boolean> {
    const io = this.#io;
    const { isCancel, text } = await import("@clack/prompts");
    const reason = await text({
      input: typedInput(io),
      output: io.stdout,
      message: "Why? The agent sees the reason.",
    });
    if (isCancel(reason)) return false;
    const { ":id": one } = scopedClient(this.#connection!, project_id).api.actions;
    const json = { reason: reason ?? "", expected_digest };
    const action = await unwrap(one.reject.$post({ param: { id }, json }));
    print(io, `${paint(io, "green", "✓")} rejected: ${summarize(action)}`);
    return true;
  }

  /** Prints a refusal. @throws the error if it is no refusal */
  #tell(error: unknown): void {
    const isRefused = error instanceof ProblemError || error instanceof NotSigned;
    if (!(isRefused || error instanceof CliError)) throw error;
    print(this.#io, `${paint(this.#io, "red", "✗")} ${visibleLine(error.message)}`);
    const next = error instanceof NotSigned ? "gate doctor" : nextOf(error);
    if (next) print(this.#io, `  try: ${visibleLine(next)}`);
  }

  /** Shows the action at this place, or the last one before it. */
  async #show(at: number): Promise<void> {
    const io = this.#io;
    this.#at = Math.max(0, Math.min(at, this.#held.length - 1));
    const action = this.#held[this.#at];
    const had = this.#shown;
    this.#shown = null;
    if (action === undefined) {
      if (had !== null) print(io, paint(io, "dim", "No action is held now. Waiting."));
      return;
    }
    const { ":id": one } = scopedClient(this.#connection!, action.project_id).api.actions;
    const detail = await unwrap(one.$get({ param: { id: action.id } }));
    // The next update of the list leaves it out.
    if (detail.status !== "pending") return;
    this.#isSound = true;
    try {
      await this.#cards.print(detail);
    } catch (error) {
      this.#tell(error);
      this.#isSound = false;
    }
    this.#shown = { ...action, digest: detail.digest };
    this.#ask();
  }

  /** Prints the footer. A key that was typed before the person saw it does nothing. */
  #ask(): void {
    const io = this.#io;
    discardTyped(io);
    const possible = Object.entries(KEYS).filter(([deed]) => this.#allows(deed as Deed));
    const words = possible.map(([, { name, word }]) => `${paint(io, "bold", name)} ${word}`);
    const place = this.#held.length > 1
      ? ` (${this.#at + 1} of ${count(this.#held.length, "held action")})`
      : "";
    const question = this.#isSound
      ? "Approve this action?"
      : "This action cannot be approved here.";
    print(io, `${question}${place}  ${words.join("  ")}`);
  }

  #allows(deed: Deed): boolean {
    return this.#isSound || (deed !== "approve" && deed !== "edit");
  }

  #help(): void {
    for (const { name, does } of Object.values(KEYS)) {
      print(this.#io, `  ${paint(this.#io, "bold", name)}  ${does}`);
    }
    if (this.#shown !== null) this.#ask();
  }
}

function nextOf(error: ProblemError | CliError): string | null {
  return error instanceof CliError ? error.next : null;
}

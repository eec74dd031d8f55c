import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { NotSigned } from "../../server/proof/not_signed.ts";
import { approve } from "../actions/approve.ts";
import { Cards } from "../actions/cards.ts";
import { isEditable } from "../actions/edit.ts";
import { actionTable } from "../actions/table.ts";
import { type ScreenCard, screenCard, summarize } from "../actions/view.ts";
import { type Connection, scopedClient } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { count, paint, print } from "../terminal/output.ts";
import { discardTyped, hideTyping, readKey, typedInput } from "../terminal/typing.ts";
import { visibleLine } from "../terminal/visible.ts";
import { openScreen, type Screen } from "./screen.ts";

/** The held actions of one moment, oldest first, and the connection that decides on them. */
export interface Held {
  held: Action[];
  /** Those of them for which the person has voted already. */
  voted: ReadonlySet<string>;
  connection: Connection;
}

/** One key of `gate watch`. */
interface Key {
  /** The key and its other names, such as arrow keys. */
  keys: string[];
  name: string;
  does: string;
  /** The word in the footer; keys without one do nothing on a short card. */
  word?: string;
}

const KEYS = {
  approve: { keys: ["a"], name: "a", word: "approve", does: "approve the action that is shown" },
  reject: { keys: ["r"], name: "r", word: "reject", does: "reject it and give the agent a reason" },
  anyway: { keys: ["y"], name: "y", does: "approve it although something was not read" },
  edit: { keys: ["e"], name: "e", word: "edit", does: "edit it in $EDITOR, approve the result" },
  next: {
    keys: ["j", "\x1b[B"],
    name: "j",
    word: "next",
    does: "show the next one; it stays held",
  },
  previous: { keys: ["k", "\x1b[A"], name: "k", word: "previous", does: "show the one before" },
  on: { keys: [" ", "\x1b[6~"], name: "space", does: "show the next part of a long card" },
  back: { keys: ["b", "\x1b[5~"], name: "b", does: "show the part before" },
  help: { keys: ["?"], name: "?", word: "help", does: "show what the keys do" },
  quit: { keys: ["q", "\x03", "\x04"], name: "q", word: "quit", does: "quit; Ctrl-C does, too" },
} satisfies Record<string, Key>;

type Deed = keyof typeof KEYS;

const NO_CARD: ScreenCard = { card: "", more: "" };
/** How a hidden character appears in a text that is safe to print. */
const HIDDEN_MARK = /\[(?:U\+[0-9A-F]{4,6}|\d+ combining marks)\]/g;

/** A card that has just appeared accepts no decision for this long. */
const NEW_MS = 700;
const TOO_NEW = "This card has only just appeared. Read it, then press again.";

/**
 * Shows one held action after the other to a person, and does what the keys say, until the person
 * quits, the queue ends or the signal says so.
 */
export async function reviewHeld(
  io: Io,
  queue: AsyncIterator<Held>,
  signal: AbortSignal,
): Promise<void> {
  hideTyping(io);
  const desk = new Desk(io);
  // A question may stand open when the terminal is closed, and nobody answers it any more.
  const ended = new Promise<"quit">((resolve) =>
    signal.addEventListener("abort", () => resolve("quit"), { once: true })
  );
  try {
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
      if (await Promise.race([desk.press(event.pressed), ended]) === "quit") return;
    }
  } finally {
    desk.close();
  }
}

class Desk {
  readonly #io: Io;
  readonly #cards: Cards;
  readonly #clock: () => number;
  #screen: Screen | null = null;
  #held: Action[] = [];
  #connection: Connection | null = null;
  /** The place of the shown action in the list. */
  #at = 0;
  #shown: Action | null = null;
  #shownAt = 0;
  #detail: ActionDetail | null = null;
  #card: ScreenCard = NO_CARD;
  #isHelpOpen = false;
  /** The warnings before the approval, while the terminal asks for it; null otherwise. */
  #cautions: string[] | null = null;
  /** The digests of the actions that this person approved and that wait for others. */
  readonly #voted = new Map<string, string>();
  /** Whether an approval can succeed, and its digest covers the card; nobody signs another one. */
  #isSound = true;

  constructor(io: Io) {
    this.#io = io;
    this.#clock = io.clock ?? (() => performance.now());
    this.#cards = new Cards(io, { isRead: true });
  }

  close(): void {
    this.#screen?.close();
  }

  /** Takes the present list. The shown action stays unless somebody has decided on it. */
  async update({ held: all, voted, connection }: Held): Promise<void> {
    // The first list may need a daemon to start, which tells its progress on the usual screen.
    this.#screen ??= openScreen(this.#io);
    // Another version of it is another question.
    const held = all.filter(({ id, digest }) => this.#voted.get(id) !== digest && !voted.has(id));
    const known = new Set(this.#held.map(({ id }) => id));
    const news = held.filter(({ id }) => !known.has(id));
    this.#held = held;
    this.#connection = connection;
    const at = held.findIndex(({ id }) => id === this.#shown?.id);
    if (at < 0) return await this.#show(this.#at);
    // Another version is another question.
    if (held[at]!.digest !== this.#shown!.digest) return await this.#show(at);
    this.#at = at;
    for (const action of news) {
      this.#screen.hint(paint(this.#io, "yellow", `+ held: ${summarize(action)}`));
    }
    this.#draw();
  }

  async press(key: string): Promise<"quit" | "stay"> {
    const screen = this.#screen;
    const [found] = Object.entries(KEYS).find(([, { keys }]) => keys.includes(key)) ?? [];
    const deed = found as Deed | undefined;
    if (deed === "quit") return "quit";
    const isAsked = this.#cautions !== null;
    if (screen === null || (deed === undefined && !this.#isHelpOpen && !isAsked)) return "stay";
    screen.clear();
    this.#cautions = null;
    if (this.#isHelpOpen || deed === "help") this.#turnHelp();
    else if (deed === "on" || deed === "back") {
      screen.turn(deed === "on" ? 1 : -1);
      if (isAsked) this.#draw();
    } else if (deed === undefined || this.#shown === null) this.#draw();
    else if (deed === "next" || deed === "previous") await this.#move(deed === "next" ? 1 : -1);
    else if (!this.#allows(deed) || (deed === "anyway" && !isAsked)) this.#draw();
    else if (this.#isNew()) this.#refuse(TOO_NEW);
    else if (deed === "approve" && this.#cautionsOf().length > 0) this.#ask();
    else await this.#decide(deed, this.#shown);
    return "stay";
  }

  /** Asks once more, because the person may not know what the card holds. */
  #ask(): void {
    this.#cautions = this.#cautionsOf();
    this.#draw();
  }

  #cautionsOf(): string[] {
    const unread = this.#screen!.unread();
    const hidden = this.#card.card.match(HIDDEN_MARK)?.length ?? 0;
    return [
      ...this.#detail?.base ? ["Its file has changed; an approval changes the file of now."] : [],
      ...hidden > 0 ? [`It has ${count(hidden, "hidden character")}; each one is marked.`] : [],
      ...unread > 0 ? [`You have not seen everything: ${count(unread, "more line")}.`] : [],
    ];
  }

  async #move(by: 1 | -1): Promise<void> {
    const to = this.#at + by;
    if (to >= 0 && to < this.#held.length) return await this.#show(to);
    this.#refuse(by > 0 ? "This is the last one." : "This is the first one.");
  }

  #refuse(why: string): void {
    this.#screen!.hint(why);
    this.#draw();
  }

  // A key may have been meant for the card that stood here before.
  #isNew(): boolean {
    return this.#clock() - this.#shownAt < NEW_MS;
  }

  /** Decides on the shown version of the action. A refusal is told, and the action stays. */
  async #decide(deed: Deed, action: Action): Promise<void> {
    this.#screen!.ask();
    try {
      const isDone = deed === "reject"
        ? await this.#reject(action)
        : await this.#approve(deed, action);
      if (!isDone) return this.#draw();
    } catch (error) {
      // Without the right passphrase the action stays held, and the person can try again.
      this.#tell(error);
      return this.#draw();
    }
    this.#held = this.#held.filter(({ id }) => id !== action.id);
    await this.#show(this.#at);
  }

  async #approve(deed: Deed, { id, digest }: Action): Promise<boolean> {
    const after = await approve(this.#io, this.#connection!, id, {
      digest,
      cards: this.#cards,
      ...this.#detail?.base && { rebase: true },
      ...deed === "edit" && { edit: true },
    });
    if (after.status === "pending") this.#voted.set(id, after.digest);
    return true;
  }

  async #reject({ id, digest: expected_digest, project_id }: Action): Promise<boolean> {
    const io = this.#io;
    const { isCancel, text } = await import("../terminal/questions.ts");
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
    this.#at = Math.max(0, Math.min(at, this.#held.length - 1));
    const action = this.#held[this.#at];
    this.#shown = null;
    this.#card = NO_CARD;
    this.#cautions = null;
    if (action === undefined) return this.#draw();
    const { ":id": one } = scopedClient(this.#connection!, action.project_id).api.actions;
    const detail = await unwrap(one.$get({ param: { id: action.id } }));
    // The next update of the list leaves it out.
    if (detail.status !== "pending") return this.#draw();
    this.#detail = detail;
    this.#card = screenCard(this.#io, detail, Date.now());
    this.#isSound = detail.obstacle === null && detail.base?.rebased !== null;
    try {
      await this.#cards.note(detail);
    } catch (error) {
      this.#tell(error);
      this.#isSound = false;
    }
    this.#shown = { ...action, digest: detail.digest };
    this.#shownAt = this.#clock();
    this.#draw();
    // A key that was typed before the person saw this card does nothing.
    discardTyped(this.#io);
  }

  #draw(): void {
    const io = this.#io;
    const isEmpty = this.#held.length === 0;
    this.#screen!.draw({
      title: `gate watch: ${isEmpty ? "no action is held" : count(this.#held.length, HELD)}`,
      queue: isEmpty ? [] : this.#rows(),
      at: this.#at,
      ...this.#card,
      ...this.#isHelpOpen && { cover: this.#help() },
      footer: this.#isHelpOpen
        ? "Any key closes this list."
        : this.#shown === null
        ? paint(io, "dim", `${isEmpty ? NOTHING_HELD : ""}Waiting. ? shows the keys, q quits.`)
        : this.#question(),
    });
  }

  #rows(): string[] {
    const { columns = 80 } = this.#io.stdout;
    const options = { now: Date.now(), described: new Map(), held: true, columns: columns - 2 };
    return actionTable(this.#io, this.#held, options).split("\n");
  }

  #question(): string {
    const io = this.#io;
    if (this.#cautions !== null) {
      const keys = [["space", "read on"], ["y", "approve anyway"], ["any other key", "back"]];
      const words = keys.map(([key, does]) => `${paint(io, "bold", key!)} ${does}`);
      const isRead = this.#screen!.unread() === 0;
      return [
        paint(io, "yellow", this.#cautions.join(" ")),
        words.slice(isRead ? 1 : 0).join("  "),
      ].join("\n");
    }
    const possible = Object.entries(KEYS).filter(([deed]) => this.#allows(deed as Deed));
    const words = possible.flatMap(([, { name, word }]: [string, Key]) =>
      word ? [`${paint(io, "bold", name)} ${word}`] : []
    );
    const place = this.#held.length > 1
      ? ` (${this.#at + 1} of ${count(this.#held.length, HELD)})`
      : "";
    const question = this.#isSound
      ? "Approve this action?"
      : "This action cannot be approved here.";
    return `${question}${place}\n${words.join("  ")}`;
  }

  #allows(deed: Deed): boolean {
    if (deed === "edit" && this.#detail !== null && !isEditable(this.#detail)) return false;
    return this.#isSound || !["approve", "anyway", "edit"].includes(deed);
  }

  /** Opens or closes the list of keys. The keys of a covered card decide nothing. */
  #turnHelp(): void {
    this.#isHelpOpen = !this.#isHelpOpen;
    this.#draw();
  }

  #help(): string {
    return Object.values(KEYS).map(({ name, does }) =>
      `  ${paint(this.#io, "bold", name)}${" ".repeat(7 - name.length)}${does}`
    ).join("\n");
  }
}

const HELD = "held action";
const NOTHING_HELD = "No action is held now. ";

function nextOf(error: ProblemError | CliError): string | null {
  return error instanceof CliError ? error.next : null;
}

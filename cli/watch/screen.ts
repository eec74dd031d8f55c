import type { Io } from "../io.ts";
import { paint, print, rowsOf } from "../terminal/output.ts";
import { fitVisible } from "../terminal/visible.ts";

/** The queue at one moment, as a person sees it. */
export interface View {
  /** How many actions are held. */
  title: string;
  /** A row for each held action. */
  queue: string[];
  /** The place of the shown action in `queue`. */
  at: number;
  /** The card of the shown action, or what stands in its place. */
  card: string;
  /** The text below the card; nobody has to read it before an approval. */
  more?: string;
  /** A list that covers the card for now. */
  cover?: string;
  /** The question and its keys, or what is waited for. */
  footer: string;
}

/** Where `gate watch` shows the queue. */
export interface Screen {
  draw(view: View): void;
  /** Moves a long card: 1 shows the next part, -1 the one before. */
  turn(parts: number): void;
  /** How many rows of the card have not been on the screen yet. */
  unread(): number;
  /** Shows a line below the card until the next key. */
  hint(line: string): void;
  /** Forgets the lines below the card, because a key was pressed. */
  clear(): void;
  /** Makes room for a question below the card, until the next `draw`. */
  ask(): void;
  /** Shows the terminal as it was before, and prints what was told meanwhile. */
  close(): void;
}

/**
 * Takes the whole terminal. Where it is small or cannot move its cursor (`TERM=dumb`, which also
 * suits a screen reader), one card is printed below the other.
 */
export function openScreen(io: Io): Screen {
  const { rows = 0, columns = 0 } = io.stdout;
  const isFull = rows >= LEAST_ROWS && columns >= LEAST_COLUMNS && io.env.TERM !== "dumb";
  return isFull ? new FullScreen(io) : new PrintedScreen(io);
}

const LEAST_ROWS = 16;
const LEAST_COLUMNS = 60;
/** The rows of a question: its text, the answer, a mistake, and the frame around them. */
const QUESTION_ROWS = 7;
const MOST_QUEUE_ROWS = 8;
const MOST_NOTES = 4;

// The sequences of xterm, which other terminals understand.
const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const CLEAR_BELOW = "\x1b[J\x1b[?25h";
const CLEAR_ROW = "\x1b[2K";
const NO_STYLE = "\x1b[0m";
const moveTo = (row: number) => `\x1b[${row + 1};1H`;

/** Keeps the lines that are printed meanwhile (`Io.note`), because they would break its rows. */
class FullScreen implements Screen {
  readonly #io: Io;
  readonly #told: string[] = [];
  #notes: string[] = [];
  #view: View = { title: "", queue: [], at: 0, card: "", footer: "" };
  /** The first visible row of the card. */
  #top = 0;
  /** The number of rows of the card, and how many of them have been visible, from the first on. */
  #rows = 0;
  #seen = 0;
  #drawn: string[] = [];
  #isAsking = false;
  readonly #resize = () => {
    this.#drawn = [];
    this.#top = this.#seen = 0;
    if (!this.#isAsking) this.#redraw();
  };

  constructor(io: Io) {
    this.#io = io;
    io.note = (line) => {
      this.#told.push(line);
      this.#notes.push(line);
    };
    io.stdout.write(ENTER);
    io.stdout.on("resize", this.#resize);
  }

  draw(view: View): void {
    if (this.#isAsking) this.#enterAgain();
    const isSame = view.card === this.#view.card && view.more === this.#view.more;
    if (!isSame) this.#top = this.#seen = 0;
    this.#view = view;
    this.#redraw();
  }

  turn(parts: number): void {
    this.#top += parts * Math.max(1, this.#room - 1);
    this.#redraw();
  }

  unread(): number {
    return Math.max(0, this.#rows - this.#seen);
  }

  hint(line: string): void {
    this.#notes.push(line);
    this.#redraw();
  }

  clear(): void {
    this.#notes = [];
  }

  ask(): void {
    this.#isAsking = true;
    this.#io.stdout.write(moveTo(this.#height - QUESTION_ROWS) + CLEAR_BELOW);
  }

  close(): void {
    const io = this.#io;
    io.stdout.off("resize", this.#resize);
    io.stdout.write(LEAVE);
    delete io.note;
    for (const line of this.#told) print(io, line);
  }

  /** An editor may have left this screen for the one before. */
  #enterAgain(): void {
    this.#isAsking = false;
    this.#drawn = [];
    this.#io.stdout.write(ENTER);
  }

  get #height(): number {
    return this.#io.stdout.rows ?? LEAST_ROWS;
  }

  get #width(): number {
    return this.#io.stdout.columns ?? LEAST_COLUMNS;
  }

  /** The rows between the line below the queue and the line above the notes. */
  get #room(): number {
    const others = this.#queueRows().length + this.#lastRows().length;
    return Math.max(1, this.#height - others - 3);
  }

  /** Writes the rows that are not on the screen yet. */
  #redraw(): void {
    const { title } = this.#view;
    const room = this.#room;
    const { shown, place } = this.#shownRows(room);
    const empty = Array.from({ length: room - shown.length }, () => "");
    const rows = [
      paint(this.#io, "bold", title),
      ...this.#queueRows(),
      this.#line(place),
      ...shown,
      ...empty,
      this.#line(""),
      ...this.#lastRows(),
    ].slice(0, this.#height).map((row) => fitVisible(row, this.#width));
    const changed = rows.flatMap((row, i) =>
      row === this.#drawn[i] ? [] : moveTo(i) + CLEAR_ROW + row + NO_STYLE
    );
    this.#drawn = rows;
    if (changed.length > 0) this.#io.stdout.write(changed.join(""));
  }

  /** The visible rows of the card, or of what covers it, and which ones of all they are. */
  #shownRows(room: number): { shown: string[]; place: string } {
    const { card, more = "", cover } = this.#view;
    if (cover !== undefined) {
      return { shown: rowsOf(cover, this.#width).slice(0, room), place: "" };
    }
    const main = rowsOf(card, this.#width);
    const all = more === "" ? main : [...main, "", ...rowsOf(more, this.#width)];
    this.#top = Math.max(0, Math.min(this.#top, all.length - room));
    const shown = withStyles(all).slice(this.#top, this.#top + room);
    this.#rows = main.length;
    this.#seen = Math.max(this.#seen, this.#top + shown.length);
    return { shown, place: this.#placeIn(all.length, shown.length) };
  }

  /** The rows of the queue around the shown action, which is marked. */
  #queueRows(): string[] {
    const { queue, at } = this.#view;
    const room = Math.min(MOST_QUEUE_ROWS, Math.floor(this.#height / 5));
    const first = Math.max(0, Math.min(at - Math.floor(room / 2), queue.length - room));
    return queue.slice(first, first + room).map((row, i) =>
      first + i === at ? paint(this.#io, "bold", `> ${row}`) : `  ${row}`
    );
  }

  #lastRows(): string[] {
    const rows = (text: string) => rowsOf(text, this.#width);
    return [...this.#notes.flatMap(rows).slice(-MOST_NOTES), ...rows(this.#view.footer)];
  }

  /** Which rows of a long card are visible. */
  #placeIn(all: number, shown: number): string {
    if (shown === all) return "";
    const last = this.#top + shown;
    const keys = [
      ...last < all ? ["space shows more"] : [],
      ...this.#top > 0 ? ["b goes back"] : [],
    ];
    return `lines ${this.#top + 1} to ${last} of ${all}: ${keys.join(", ")}`;
  }

  #line(text: string): string {
    const head = text === "" ? "" : `── ${text} `;
    return paint(this.#io, "dim", head + "─".repeat(Math.max(0, this.#width - head.length)));
  }
}

/** Begins each row with the style that the row before it left open. */
function withStyles(rows: string[]): string[] {
  let open = "";
  return rows.map((row) => {
    const begun = open + row;
    open = STYLES.exec(begun)?.[1] ?? "";
    return begun;
  });
}

// The last style of a row, unless it ends one: 0, 22 to 29, 39 and 49 do.
// deno-lint-ignore no-control-regex
const STYLES = /(\x1b\[(?!(?:0|2[2-9]|[34]9)?m)[\d;]*m)(?!.*\x1b\[)/s;

class PrintedScreen implements Screen {
  readonly #io: Io;
  #card = "";

  constructor(io: Io) {
    this.#io = io;
  }

  draw({ card, more = "", cover, footer }: View): void {
    const text = cover ?? (more === "" ? card : `${card}\n\n${more}`);
    if (text !== this.#card) print(this.#io, `\n${text}\n`);
    this.#card = text;
    print(this.#io, footer);
  }

  turn(): void {}

  unread(): number {
    return 0;
  }

  hint(line: string): void {
    print(this.#io, line);
  }

  clear(): void {}

  ask(): void {}

  close(): void {}
}

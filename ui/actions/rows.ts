import { signal } from "@preact/signals";
import type { Action } from "../../server/actions/schema.ts";
import { explain } from "../state/client.ts";

/** A page of actions as the daemon lists it. */
export interface Page {
  items: Action[];
  next_cursor: string | null;
}

/** Rows of one request. The rows of a window and its surroundings fit in two pages. */
export const PAGE_ROWS = 100;
/** Pages in memory; the ones farthest from the window are forgotten and read again when needed. */
const KEPT_PAGES = 10;

/** Where a page begins: its first row and its cursor, which is null for the newest rows. */
interface Place {
  row: number;
  cursor: string | null;
}

/** An action of the list; `isGone` if the list no longer holds it, as it has changed. */
export interface ListedRow {
  action: Action;
  isGone: boolean;
}

/**
 * A list of actions of any length, read in pages as its rows are wanted, in bounded memory. Rows keep
 * their places: new actions wait until `take`.
 */
export class ActionRows {
  readonly key: string;
  readonly #isNewestFirst: boolean;
  readonly #load: (cursor: string | null) => Promise<Page>;
  readonly #places: Place[];
  readonly #pages = new Map<number, ListedRow[]>();
  #latest: Page | null = null;
  #wanted = { first: 0, last: 0 };
  #reading = false;
  /** The number of known rows; null until the first page is loaded. */
  readonly count = signal<number | null>(null);
  /** Whether rows follow the known ones. */
  readonly hasMore = signal(false);
  /** The number of new actions above the first row. */
  readonly waiting = signal(0);
  readonly problem = signal<string | null>(null);
  /** Rises with each change of the rows. */
  readonly version = signal(0);

  /** `start` is the cursor of the first page; null begins with the first action of all. */
  constructor(
    { key, start, order }: { key: string; start: string | null; order: string | null },
    load: (cursor: string | null) => Promise<Page>,
  ) {
    this.key = key;
    this.#isNewestFirst = order === null;
    this.#load = load;
    this.#places = [{ row: 0, cursor: start }];
  }

  /** The cursor of the first page. */
  get start(): string | null {
    return this.#places[0]!.cursor;
  }

  /** The row at this place; undefined while it is not loaded. */
  at(row: number): ListedRow | undefined {
    const page = this.#pageOf(row);
    return this.#pages.get(page)?.[row - this.#places[page]!.row];
  }

  /** The cursor of the page that holds this row. */
  cursorOf(row: number): string | null {
    return this.#places[this.#pageOf(row)]!.cursor;
  }

  /** The place of an action among the loaded rows; -1 if it is not there. */
  indexOf(id: string): number {
    for (const [page, rows] of this.#pages) {
      const at = rows.findIndex(({ action }) => action.id === id);
      if (at >= 0) return this.#places[page]!.row + at;
    }
    return -1;
  }

  /** Loads the pages of these rows that are missing; forgets pages far from them. */
  async want(first: number, last: number): Promise<void> {
    this.#wanted = { first, last };
    if (this.#reading) return;
    this.#reading = true;
    try {
      for (let page = this.#missing(); page !== null; page = this.#missing()) {
        await this.#read(page);
      }
      this.problem.value = null;
    } catch (error) {
      this.problem.value = explain(error);
    } finally {
      this.#reading = false;
    }
  }

  /** Reads the rows in the window again, and looks for new actions. */
  async refresh(): Promise<void> {
    if (this.count.peek() === null) return await this.want(this.#wanted.first, this.#wanted.last);
    const { first, last } = this.#wanted;
    try {
      for (const page of new Set([0, this.#pageOf(first), this.#pageOf(last)])) {
        if (this.#pages.has(page)) this.#update(page, await this.#load(this.#places[page]!.cursor));
      }
      this.problem.value = null;
    } catch (error) {
      this.problem.value = explain(error);
    }
  }

  /** Shows the list as it is now, from its first action. */
  take(): void {
    const latest = this.#latest;
    if (latest === null) return;
    this.#places.splice(0, Infinity, { row: 0, cursor: this.start });
    this.#pages.clear();
    this.#keep(0, latest);
  }

  #missing(): number | null {
    if (this.count.peek() === null) return 0;
    const last = Math.min(this.#wanted.last, this.#places.at(-1)!.row + PAGE_ROWS);
    for (let page = this.#pageOf(this.#wanted.first); page < this.#places.length; page++) {
      if (this.#places[page]!.row > last) return null;
      if (!this.#pages.has(page)) return page;
    }
    return null;
  }

  async #read(page: number): Promise<void> {
    this.#keep(page, await this.#load(this.#places[page]!.cursor));
    const middle = this.#pageOf(this.#wanted.first);
    const far = [...this.#pages.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    for (const other of far.slice(0, Math.max(0, far.length - KEPT_PAGES))) {
      // The first page tells which actions are new.
      if (other !== 0) this.#pages.delete(other);
    }
  }

  #keep(page: number, { items, next_cursor }: Page): void {
    if (page === 0) [this.#latest, this.waiting.value] = [{ items, next_cursor }, 0];
    const row = this.#places[page]!.row;
    // A page that was forgotten may have lost rows to a filter since: its row count stays.
    const known = this.#places[page + 1]?.row;
    const end = known ?? row + items.length;
    const rows = items.slice(0, end - row).map((action) => ({ action, isGone: false }));
    this.#pages.set(page, rows);
    if (known === undefined) {
      this.hasMore.value = next_cursor !== null;
      this.count.value = end;
      if (next_cursor !== null) this.#places.push({ row: end, cursor: next_cursor });
    }
    this.version.value += 1;
  }

  /** Rows keep their places and only their content is updated. An empty list shows new rows at once. */
  #update(page: number, latest: Page): void {
    const shown = this.#pages.get(page);
    if (shown === undefined) return;
    if (page === 0) this.#latest = latest;
    if (page === 0 && shown.length === 0) return this.take();
    // In a list that begins with the oldest action, new ones follow the last row.
    const isLast = page === this.#places.length - 1;
    const isSameStart = latest.items[0]?.id === shown[0]?.action.id;
    if (isLast && isSameStart && latest.items.length > shown.length) {
      return this.#keep(page, latest);
    }
    const fresh = new Map(latest.items.map((item) => [item.id, item]));
    // New actions push others off the page; these may still be in the list.
    const end = latest.next_cursor === null ? "" : latest.items.at(-1)?.id ?? "";
    const isGone = ({ id }: Action) => this.#isNewestFirst && !fresh.has(id) && id > end;
    this.#pages.set(
      page,
      shown.map(({ action }) => ({
        action: fresh.get(action.id) ?? action,
        isGone: isGone(action),
      })),
    );
    if (page === 0) {
      const known = new Set(shown.map(({ action }) => action.id));
      this.waiting.value = latest.items.filter(({ id }) => !known.has(id)).length;
    }
    this.version.value += 1;
  }

  #pageOf(row: number): number {
    const at = this.#places.findLastIndex((place) => place.row <= row);
    return Math.max(0, at);
  }
}

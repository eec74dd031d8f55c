import { applyEdits, type JSONPath, modify } from "jsonc-parser";
import { join } from "node:path";
import { z } from "zod";
import { fingerprint, loadConfig, type Loaded, parseConfig } from "../config/load.ts";
import type { Database } from "../db/database.ts";
import type { Ledger, NewEvent } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { canonical } from "../evidence/canonical.ts";
import type { AuditType } from "../evidence/schema.ts";
import { digestOf } from "../proof/digest.ts";
import type { Decider, Proofs } from "../proof/proofs.ts";
import type { ProofRecord, ProofVerb } from "../proof/schema.ts";
import { writeWhole } from "../runtime/small_file.ts";
import {
  type AcceptedList,
  findAccepted,
  type ListChange,
  listChangesAfter,
  newestChange,
  saveAccepted,
} from "./kept_store.ts";
import type { AcceptListInput, WaitingList } from "./schema.ts";

/** A kind of list that a person keeps in a file of gate's home. */
export interface ListKind<T extends { id: string }> {
  /** The file in the home, such as `team.json`. */
  file: string;
  /** The key of the list in the file. */
  key: string;
  item: z.ZodType<T>;
  /** The deed that a person proves to change it. */
  verb: ProofVerb;
  /** How errors name the list. */
  words: string;
  events: Record<"added" | "changed" | "removed", AuditType>;
  /** The part of an item that the audit log records. */
  recorded: (item: T) => Record<string, unknown>;
  /**
   * The accepted items as far as the file still has them: a change by hand that permits less holds
   * at once.
   */
  tighten: (accepted: T[], file: T[]) => T[];
}

/** The services of a list. */
export interface ListServices {
  environment: Environment;
  registry: Database;
  proofs: Pick<Proofs, "require" | "eventCheck" | "isValid" | "kind">;
}

/** The items in force. */
export interface ListState<T> {
  items: T[];
  /** Why the file is not in force as it is, and what a person must do; null if it is. */
  problem: string | null;
  /** False if the items that a person accepted are unknown. */
  is_certain: boolean;
}

/** The person who changes a list. */
export interface Changer extends Decider {
  id: string;
}

const MOST_ITEMS = 500;
const MOST_CAUGHT_UP = 200;
const MOST_TRIES = 3;

/**
 * A list in a file that people edit by hand or through gate. Where a person's key is enrolled,
 * gate.db keeps the list that a person signed: a change by hand holds only as far as it permits
 * less, until a person accepts it. The last list stays in force while the file cannot be read.
 */
export class KeptList<T extends { id: string }> {
  readonly path: string;
  readonly #kind: ListKind<T>;
  readonly #services: ListServices;
  readonly #schema: z.ZodType<Record<string, unknown>>;
  readonly #ledgers = new Map<string, Ledger>();
  #accepted: AcceptedList | null;
  /** The number of the newest change that any open ledger remembers. */
  #remembered = 0;
  /** The last state that was read, and the fingerprint of everything that it rests on. */
  #last: { mark: string; state: ListState<T> } = { mark: "", state: EMPTY };
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    kind: ListKind<T>,
    services: ListServices,
    accepted: AcceptedList | null,
  ) {
    this.path = join(services.environment.home, kind.file);
    this.#kind = kind;
    this.#services = services;
    this.#accepted = accepted;
    this.#schema = documentOf(kind);
  }

  static async open<T extends { id: string }>(
    kind: ListKind<T>,
    services: ListServices,
  ): Promise<KeptList<T>> {
    return new KeptList(kind, services, await findAccepted(services.registry, kind.file));
  }

  /** The items in force when `state()` last looked. */
  get items(): readonly T[] {
    return this.#last.state.items;
  }

  /** The items in force. Reads the file again if it has changed. */
  async state(): Promise<ListState<T>> {
    const mark = this.#fingerprint();
    if (this.#last.mark === mark) return this.#last.state;
    return await this.#inTurn(() => this.#refresh());
  }

  /** Adds or replaces an item. @throws GateError `conflict`, `proof_required` */
  async put(item: T, by: Changer): Promise<void> {
    await this.#change(by, (text, items) => {
      const at = items.findIndex(({ id }) => id === item.id);
      if (at < 0 && items.length >= MOST_ITEMS) {
        throw this.#conflict(`it has ${MOST_ITEMS} entries`);
      }
      return at < 0 ? this.#insert(text, item) : this.#update(text, at, item, items[at]!);
    });
  }

  /** Removes an item. @throws GateError `conflict`, `proof_required` */
  async remove(id: string, by: Changer): Promise<void> {
    await this.#change(by, (text, items) => {
      const at = items.findIndex((item) => item.id === id);
      return at < 0 ? text : edit(text, [this.#kind.key, at], undefined);
    });
  }

  /** The change by hand that waits for a person; null if there is none, or nobody can read the file. */
  async waiting(): Promise<WaitingList | null> {
    return await this.#inTurn(async () => {
      const { problem } = await this.#refresh();
      const file = this.#readFile();
      if (problem === null || file.error !== null) return null;
      const items = this.#itemsOf(file);
      const before = await this.#provenItems() ?? [];
      return { ...this.#versionOf(items), differences: differencesOf(before, items) };
    });
  }

  /**
   * Takes over the file as the person has seen it. @throws GateError `conflict` when nobody can read
   * it or it is another version, `proof_required`
   */
  async accept({ items_sha256, number }: AcceptListInput, by: Changer): Promise<void> {
    await this.#inTurn(async () => {
      const file = this.#readFile();
      if (file.error !== null) throw this.#conflict(`${file.error}; correct the file`);
      const items = this.#itemsOf(file);
      const now = this.#versionOf(items);
      if (now.items_sha256 !== items_sha256 || now.number !== number) {
        throw this.#conflict(
          "it is not the version that you have seen; look again, then accept it",
        );
      }
      await this.#commit(items, by, { by_hand: true });
    });
  }

  /** Brings a ledger that has just opened up to date. */
  async attach(ledger: Ledger): Promise<void> {
    await this.#inTurn(async () => {
      this.#ledgers.set(ledger.project_id, ledger);
      const number = await newestChange(ledger, Object.values(this.#kind.events));
      if (number > this.#remembered) {
        this.#remembered = number;
        this.#last = { ...this.#last, mark: "" };
      }
      if (number >= (this.#accepted?.number ?? 0)) return;
      const { registry } = this.#services;
      const missing = { number, most: MOST_CAUGHT_UP };
      const changes = await listChangesAfter(registry, this.#kind.file, missing);
      if (changes.length > 0) await ledger.commit({ statements: [], events: changes.map(toEvent) });
    });
  }

  /** Forgets a ledger that closes. */
  detach(project_id: string): void {
    this.#ledgers.delete(project_id);
  }

  async #change(by: Changer, editing: (text: string, items: T[]) => string): Promise<void> {
    await this.#inTurn(async () => {
      for (let tries = 1;; tries++) {
        const state = await this.#refresh();
        if (state.problem !== null) throw this.#conflict(state.problem);
        const mark = fingerprint(this.path);
        const file = this.#readFile();
        if (file.error !== null) throw this.#conflict(`${file.error}; correct the file`);
        const text = editing(this.#textOf(file), this.#itemsOf(file));
        const edited = parseConfig(this.path, text, this.#schema);
        if (edited.error !== null) throw this.#conflict(`${edited.error}; give other values`);
        if (text === file.text) return;
        const write = () => {
          if (fingerprint(this.path) !== mark) return false;
          writeWhole(this.path, text, 0o600);
          return true;
        };
        if (await this.#commit(this.#itemsOf(edited), by, { write })) return;
        if (tries === MOST_TRIES) throw this.#conflict("another program is changing the file");
      }
    });
  }

  /** Returns false if the file changed meanwhile, and then changes nothing. */
  async #commit(
    items: T[],
    by: Changer,
    { write, by_hand = false }: { write?: () => boolean; by_hand?: boolean },
  ): Promise<boolean> {
    const { number, items_sha256 } = this.#versionOf(items);
    const asked = { list: this.#kind.file, number, items_sha256 };
    const { verb } = this.#kind;
    const deed = { verb, project_id: null, action_id: null, head: null };
    const proof = await this.#services.proofs.require(by, { ...deed, digest: digestOf(asked) });
    if (write && !write()) return false;
    await this.#save(items, { by: by.id, by_hand, proof });
    return true;
  }

  async #save(
    items: T[],
    { by, by_hand, proof }: { by: string; by_hand: boolean; proof: ProofRecord | null },
  ): Promise<void> {
    const { registry, environment } = this.#services;
    const first = this.#nextNumber();
    const changes = this.#differences(items).map(({ type, data }, at): ListChange => ({
      number: first + at,
      type,
      by,
      data: { ...data, number: first + at, by_hand, ...proof && { signed: proof } },
    }));
    // The number that a person signs is that of the last of these changes.
    const accepted = { number: changes.at(-1)?.number ?? first, items, proof };
    await saveAccepted(registry, this.#kind.file, accepted, changes);
    this.#accepted = accepted;
    this.#remembered = Math.max(this.#remembered, accepted.number);
    this.#last = { ...this.#last, mark: "" };
    for (const ledger of this.#ledgers.values()) {
      await ledger.commit({ statements: [], events: changes.map(toEvent) }).catch((error) =>
        environment.log("error", `Cannot record the change of ${this.#kind.words}`, {
          project_id: ledger.project_id,
          error: String(error),
        })
      );
    }
    await this.#refresh();
  }

  #differences(after: readonly T[]) {
    const { events, recorded } = this.#kind;
    const before = this.#acceptedItems() ?? [];
    const old = new Map(before.map((item) => [item.id, item]));
    const now = new Set(after.map(({ id }) => id));
    return [
      ...before.filter(({ id }) => !now.has(id)).map((item) => ({
        type: events.removed,
        data: recorded(item),
      })),
      ...after.filter((item) => canonicalOf(old.get(item.id)) !== canonicalOf(item)).map((
        item,
      ) => ({
        type: old.has(item.id) ? events.changed : events.added,
        data: recorded(item),
      })),
    ];
  }

  async #refresh(): Promise<ListState<T>> {
    const mark = this.#fingerprint();
    if (this.#last.mark === mark) return this.#last.state;
    const isNew = this.#accepted === null && this.#remembered === 0;
    // Without a list there is nothing to prove, so this does not wait for the proofs of all ledgers.
    if (isNew && fingerprint(this.path) === "absent") {
      this.#last = { mark, state: EMPTY };
      return EMPTY;
    }
    const isFree = await this.#services.proofs.eventCheck() === null;
    const state = isFree ? await this.#freeState() : await this.#provenState();
    // Saving has changed the mark.
    this.#last = { mark: this.#fingerprint(), state };
    return state;
  }

  /** Where no key is enrolled, a valid file is in force as it is. */
  async #freeState(): Promise<ListState<T>> {
    const accepted = this.#acceptedItems();
    const file = this.#readFile();
    if (file.error !== null) {
      const kept = accepted ? "; until then the last version stays in force" : "";
      const problem = `${file.error}; correct the file${kept}`;
      return { items: accepted ?? [], problem, is_certain: accepted !== null };
    }
    const items = this.#itemsOf(file);
    if (canonicalOf(items) !== canonicalOf(accepted ?? [])) {
      await this.#save(items, { by: BY_HAND, by_hand: true, proof: null });
    }
    return { items, problem: null, is_certain: true };
  }

  async #provenState(): Promise<ListState<T>> {
    const { file: name, words, tighten } = this.#kind;
    const accepted = await this.#provenItems();
    if (accepted === null) {
      const problem = `gate.db holds no person's proof of ${words}; look at "${this.path}", ` +
        "then run gate team accept";
      return { items: [], problem, is_certain: false };
    }
    const file = this.#readFile();
    if (file.error !== null) {
      const problem = `${file.error}; correct the file; the accepted version stays in force`;
      return { items: accepted, problem, is_certain: true };
    }
    const items = this.#itemsOf(file);
    if (canonicalOf(items) === canonicalOf(accepted)) {
      return { items, problem: null, is_certain: true };
    }
    const problem = `${name} was changed by hand: what it permits waits for a person; ` +
      `look at "${this.path}", then run gate team accept`;
    return { items: tighten(accepted, items), problem, is_certain: true };
  }

  /** The items that a person signed; null if the signature does not fit, or is too old. */
  async #provenItems(): Promise<T[] | null> {
    const accepted = this.#accepted;
    const items = this.#acceptedItems();
    if (accepted === null) return this.#remembered === 0 ? [] : null;
    if (items === null || accepted.number < this.#remembered) return null;
    const { number } = accepted;
    const digest = digestOf({ list: this.#kind.file, number, items_sha256: digestOf(items) });
    const wanted = { verbs: [this.#kind.verb], project_id: null, digest };
    const isProven = accepted.proof !== null &&
      await this.#services.proofs.isValid(accepted.proof, wanted);
    return isProven ? items : null;
  }

  /** The content of the list and its next number, which a person signs beside its name. */
  #versionOf(items: T[]): { items_sha256: string; number: number } {
    const changes = this.#differences(items).length;
    const number = this.#nextNumber() + Math.max(0, changes - 1);
    return { items_sha256: digestOf(items), number };
  }

  #acceptedItems(): T[] | null {
    if (this.#accepted === null) return null;
    const found = z.array(this.#kind.item).safeParse(this.#accepted.items);
    return found.success ? found.data : null;
  }

  /** Higher than every number that gate.db or a ledger knows. */
  #nextNumber(): number {
    return Math.max(this.#accepted?.number ?? 0, this.#remembered) + 1;
  }

  #readFile(): Loaded<Record<string, unknown>> {
    return loadConfig(this.path, this.#schema);
  }

  #itemsOf({ value }: Loaded<Record<string, unknown>>): T[] {
    return (value?.[this.#kind.key] ?? []) as T[];
  }

  #textOf({ text }: Loaded<unknown>): string {
    return text === "" ? `{\n  "version": "1",\n  "${this.#kind.key}": []\n}\n` : text;
  }

  #insert(text: string, item: T): string {
    const { key } = this.#kind;
    const { value } = parseConfig(this.path, text, this.#schema);
    const isThere = Array.isArray((value as Record<string, unknown> | null)?.[key]);
    return isThere ? edit(text, [key, -1], item, true) : edit(text, [key], [item]);
  }

  /** Changes only the fields that differ, so that keys which gate does not know stay. */
  #update(text: string, at: number, item: T, before: T): string {
    return Object.entries(item).reduce((current, [name, value]) => {
      const isSame = canonicalOf(before[name as keyof T]) === canonicalOf(value);
      return isSame ? current : edit(current, [this.#kind.key, at, name], value);
    }, text);
  }

  #conflict(why: string): GateError {
    return new GateError("conflict", `Cannot change ${this.#kind.words}: ${why}`);
  }

  /** Changes with the file, the kind of proof, the accepted list and the ledgers. */
  #fingerprint(): string {
    return `${
      fingerprint(this.path)
    } ${this.#services.proofs.kind} ${this.#accepted?.number} ${this.#remembered}`;
  }

  /** Runs one task at a time, so that no change is lost. */
  #inTurn<R>(task: () => Promise<R>): Promise<R> {
    const run = this.#turn.then(task);
    this.#turn = run.catch(() => {});
    return run;
  }
}

const EMPTY = { items: [], problem: null, is_certain: true };

/** The actor of a change by hand, because the file does not show who changed it. */
const BY_HAND = "file";

function documentOf<T extends { id: string }>(
  { key, item }: ListKind<T>,
): z.ZodType<Record<string, unknown>> {
  const items = z.array(item).max(MOST_ITEMS).superRefine((all, context) => {
    const ids = new Set<string>();
    for (const [at, { id }] of all.entries()) {
      // "ann" and "Ann" would be two members whom nobody tells apart.
      if (ids.has(id.toLowerCase())) {
        context.addIssue({ code: "custom", path: [at, "id"], message: `"${id}" is there twice` });
      }
      ids.add(id.toLowerCase());
    }
  });
  return z.looseObject({ version: z.string().optional(), [key]: items.default([]) });
}

/** How a list differs from the accepted one, in words for the person who accepts it. */
function differencesOf<T extends { id: string }>(
  before: readonly T[],
  after: readonly T[],
): WaitingList["differences"] {
  const old = new Map(before.map((item) => [item.id, item]));
  const now = new Set(after.map(({ id }) => id));
  return [
    ...before.filter(({ id }) => !now.has(id)).map(({ id }) => ({
      kind: "removed" as const,
      id,
      text: "",
    })),
    ...after.flatMap((item) => {
      const known = old.get(item.id);
      const text = Object.entries(item).flatMap(([name, value]) => {
        const was = known?.[name as keyof T];
        if (name === "id" || canonicalOf(was) === canonicalOf(value)) return [];
        const first = known === undefined ? "" : `${JSON.stringify(was)} → `;
        return [`${name}: ${first}${JSON.stringify(value)}`];
      }).join("; ");
      if (known !== undefined && text === "") return [];
      return [{
        kind: known === undefined ? "added" as const : "changed" as const,
        id: item.id,
        text,
      }];
    }),
  ];
}

function toEvent({ type, by, data }: ListChange): NewEvent {
  const actor = by === BY_HAND && data.by_hand === true
    ? { kind: "system" as const, id: "gate" }
    : { kind: "reviewer" as const, id: by };
  return { session_id: null, action_id: null, type, actor, data };
}

function canonicalOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonical(value);
}

function edit(text: string, path: JSONPath, value: unknown, isArrayInsertion = false): string {
  const formattingOptions = { insertSpaces: !/^\t/m.test(text), tabSize: 2, eol: "\n" };
  return applyEdits(text, modify(text, path, value, { formattingOptions, isArrayInsertion }));
}

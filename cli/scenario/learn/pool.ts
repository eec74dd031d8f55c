import type { Operation, Parameter } from "../generate/operation.ts";
import { collectionOf, sameName } from "../generate/names.ts";
import { isObject } from "../json.ts";

/** An identity of the run; null is the login of `-H`, or none. */
export type Owner = string | null;

/** One value that an answer, a login or a request named. */
export interface Known {
  key: string;
  value: string;
  /** The path of the operation. */
  path: string;
  owner: Owner;
  /** Its owner made it, or it is the owner's own. */
  made: boolean;
}

/** Bounds against hostile answers. */
const KNOWN = 20_000;
const NODES = 2_000;
const DEPTH = 8;
const CHARS = 200;
const CANDIDATES = 4;

/** The values that the rehearsal has seen, for path parameters and fields. */
export class Pool {
  readonly #known: Known[] = [];

  add(known: Known): void {
    if (this.#known.length < KNOWN) this.#known.push(known);
  }

  /** Keeps every text and number of a JSON body, however deep. */
  harvest(body: string, place: Pick<Known, "path" | "owner" | "made">): void {
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch {
      return;
    }
    let nodes = 0;
    const visit = (one: unknown, depth: number): void => {
      if (depth > DEPTH || ++nodes > NODES) return;
      if (Array.isArray(one)) return one.slice(0, 50).forEach((item) => visit(item, depth + 1));
      if (!isObject(one)) return;
      for (const [key, inner] of Object.entries(one)) {
        const isPlain = typeof inner === "string" || typeof inner === "number";
        if (!isPlain) visit(inner, depth + 1);
        else if (String(inner) !== "" && String(inner).length <= CHARS) {
          this.add({ key, value: String(inner), ...place });
        }
      }
    };
    visit(value, 0);
  }

  /** Values for a parameter, the likeliest first; the sample comes last. */
  candidates(operation: Operation, parameter: Parameter, owner: Owner): string[] {
    const sample = String(parameter.sample ?? "");
    if (parameter.in !== "path") {
      const found = parameter.required ? this.named(parameter.name, owner) : null;
      return found === null ? [] : [found];
    }
    const own = this.#known.filter((known) =>
      known.owner === owner && known.path === "" && sameName(known.key, parameter.name)
    ).map(({ value }) => value);
    const found = ranksOf(operation, parameter.name).flatMap((fits) => this.#best(fits, owner));
    return [...new Set([...own, ...found, sample])].slice(0, CANDIDATES);
  }

  /** The value of a field with this name; null without one. */
  named(name: string, owner: Owner): string | null {
    const [named] = this.#best((known) => sameName(known.key, name), owner);
    if (named !== undefined) return named;
    // The second of several is numbered: `product_id_2`. A `credit_card_id` may be a `card_id`.
    const single = name.replace(/_\d$/, "");
    if (single !== name) return this.named(single, owner);
    const short = /^[a-z]+_([a-z]+_id)$/i.exec(name)?.[1];
    return short === undefined ? null : this.named(short, owner);
  }

  /** The value of a field that several identities were shown and none made, else as usual. */
  found(name: string, owner: Owner): string | null {
    const single = name.replace(/_\d$/, "");
    const there = this.#known.filter(({ path, key }) => path !== "" && sameName(key, single));
    const shared = there.find(({ value }) => {
      const same = this.#known.filter((known) => known.value === value);
      return same.every(({ made }) => !made) && new Set(same.map(({ owner }) => owner)).size > 1;
    });
    return shared?.value ?? this.named(name, owner);
  }

  /**
   * True for a value that only this identity has been shown, or that names it. A small number
   * counts where it is the parameter's: the first card and the first biller are both 1.
   */
  isOwn(value: string, owner: Owner, operation: Operation, { name }: { name: string }): boolean {
    const fits = SMALL.test(value) ? ranksOf(operation, name) : [() => true];
    const shown = this.#known.filter((known) =>
      known.value === value && fits.some((fit) => fit(known))
    );
    // A value that a login names belongs to it, even if others are shown it.
    const named = shown.filter((known) => known.path === "" && known.made);
    if (named.length > 0) return named.every((known) => known.owner === owner);
    return shown.some((known) => known.owner === owner && known.made) &&
      shown.every((known) => known.owner === owner || known.owner === null);
  }

  /** Every value that an answer showed. */
  texts(): Set<string> {
    return new Set(this.#known.filter(({ path }) => path !== "").map(({ value }) => value));
  }

  /** True for the value of a record that this identity made and nobody else was shown. */
  isMade(value: string, owner: Owner): boolean {
    const shown = this.#known.filter((known) => known.value === value);
    // A small number is the id of many records.
    return !SMALL.test(value) && shown.some((known) => known.owner === owner && known.made) &&
      shown.every((known) => known.owner === owner && known.path !== "");
  }

  /** True for a value by which a login names its user. */
  isLogin(value: string): boolean {
    return this.#known.some((known) => known.value === value && known.path === "" && known.made);
  }

  /** The first of these names for which the identity's login or `--as-value` has a value. */
  ownOf(names: string[], owner: Owner): { name: string; value: string } | undefined {
    if (owner === null) return undefined;
    for (const name of names) {
      const own = this.#known.find((known) =>
        known.owner === owner && known.path === "" && sameName(known.key, name)
      );
      if (own) return { name, value: own.value };
    }
    return undefined;
  }

  /** Forgets these values of a record that was deleted. Returns the paths that had made it. */
  drop(gone: ReadonlySet<unknown>): Set<string> {
    const makers = this.#known.filter(({ made, path, value }) =>
      made && path !== "" && gone.has(value)
    );
    const kept = this.#known.filter(({ value }) => !gone.has(value));
    this.#known.splice(0, this.#known.length, ...kept);
    return new Set(makers.map(({ path }) => path));
  }

  /** Returns values that the identity made, then those it was shown; later ones first. */
  #best(fits: (known: Known) => boolean, owner: Owner): string[] {
    const found = this.#known.filter(fits).reverse();
    const own = found.filter((known) => known.owner === owner);
    return [
      ...own.filter(({ made }) => made),
      ...own.filter(({ made }) => !made),
      ...found.filter((known) => known.owner !== owner),
    ].map(({ value }) => value);
  }
}

const ID = /^_?(id|uuid|guid)$/i;
const SMALL = /^\d{1,5}$/;

/** By which a known value may be one of a path parameter, the likeliest first. */
function ranksOf({ path }: Operation, parameter: string): ((known: Known) => boolean)[] {
  const collection = collectionOf(path, parameter);
  const within = (known: Known) => collectionOf(known.path) === collection;
  return [
    (known) => within(known) && sameName(known.key, parameter),
    (known) => within(known) && ID.test(known.key),
    (known) => sameName(known.key, parameter),
    (known) => ID.test(known.key) && isOf(known.path, parameter),
  ];
}

/** True when `order_id` could be an id that a path with `orders` shows. */
function isOf(path: string, parameter: string): boolean {
  const noun = parameter.replace(/_?(id|uuid)$/i, "").toLowerCase();
  return noun.length > 2 && path.toLowerCase().includes(noun);
}

import { type PathNames, type PathPattern, speltNames } from "./match.ts";

/** Path rules by a name that they spell out, so that a thousand of them cost little. */
export class PathIndex<Rule extends { compiled: PathPattern }> {
  readonly #all: Rule[] = [];
  /** Places in `#all`. */
  readonly #named = new Map<string, number[]>();
  readonly #open: number[] = [];

  constructor(rules: readonly Rule[]) {
    for (const rule of rules) this.#add(rule);
  }

  #add(rule: Rule): void {
    const at = this.#all.push(rule) - 1;
    const names = speltNames(rule.compiled);
    if (names === null) this.#open.push(at);
    else for (const name of new Set(names)) this.#note(name, at);
  }

  #find(name: string, found: number[]): void {
    const named = this.#named.get(name);
    if (named) found.push(...named);
  }

  #note(name: string, at: number): void {
    const known = this.#named.get(name);
    if (known) known.push(at);
    else this.#named.set(name, [at]);
  }

  /** The rules that could match one of the names, in the order in which they were given. */
  about(names: readonly PathNames[]): readonly Rule[] {
    const found = [...this.#open];
    for (const { absolute } of names) {
      for (const { folded, aliased, holey } of absolute) {
        if (holey) return this.#all;
        for (const name of folded) this.#find(name, found);
        if (aliased) { for (const name of aliased) this.#find(name, found); }
      }
    }
    if (found.length === 0) return [];
    return [...new Set(found)].sort((a, b) => a - b).map((at) => this.#all[at]!);
  }
}

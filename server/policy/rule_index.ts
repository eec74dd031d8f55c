/** Rules under literal keys, so that a request meets only those that may match it. */
export class RuleIndex<Rule> {
  readonly all: Rule[] = [];
  /** Positions in `all`. */
  readonly #keyed = new Map<string, number[]>();
  readonly #open: number[] = [];
  readonly #openRules: Rule[] = [];

  /** Adds a rule under each of its keys; a rule without keys may match every request. */
  add(rule: Rule, keys: readonly string[]): void {
    const at = this.all.push(rule) - 1;
    if (keys.length === 0) {
      this.#open.push(at);
      this.#openRules.push(rule);
    }
    for (const key of new Set(keys)) {
      const known = this.#keyed.get(key);
      if (known) known.push(at);
      else this.#keyed.set(key, [at]);
    }
  }

  keys(): Iterable<string> {
    return this.#keyed.keys();
  }

  /** The rules under these keys and those without a key, in their original order. */
  under(keys: Iterable<string>): readonly Rule[] {
    const found: number[] = [];
    for (const key of keys) {
      const keyed = this.#keyed.get(key);
      if (keyed) found.push(...keyed);
    }
    if (found.length === 0) return this.#openRules;
    const places = new Set([...this.#open, ...found]);
    return [...places].sort((a, b) => a - b).map((at) => this.all[at]!);
  }
}

import type { CompiledRule } from "./rule.ts";
import { baseName, type CommandPattern, programOf } from "./shell/rules.ts";
import type { Unit } from "./shell/unit.ts";

/** A command rule, compiled. */
export interface CommandRule extends CompiledRule {
  compiled: CommandPattern;
}

/** Command rules by the program they speak of, so that a thousand of them cost little. */
export class CommandIndex {
  readonly #named = new Map<string, CommandRule[]>();
  /** Rules about any program, or about several. */
  readonly #open: CommandRule[] = [];
  readonly #all: CommandRule[] = [];

  add(rule: CommandRule): void {
    this.#all.push(rule);
    const name = programOf(rule.compiled);
    if (name === null) this.#open.push(rule);
    else this.#named.set(name, [...this.#named.get(name) ?? [], rule]);
  }

  /** The rules that could speak of a unit. */
  about(unit: Unit): readonly CommandRule[] {
    const program = unit.argv[0] ?? "";
    if (/[\uFDD0-\uFDD6]/.test(program)) return this.#all;
    const named = this.#named.get(baseName(program).toLowerCase());
    return named ? [...named, ...this.#open] : this.#open;
  }
}

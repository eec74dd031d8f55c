import type { Finding } from "../../server/doctor/schema.ts";

/** The findings of one check, one line each. */
export class Findings {
  readonly list: Finding[] = [];
  readonly #check: string;

  constructor(check: string) {
    this.#check = check;
  }

  /** Adds a line without a problem. */
  ok(message: string): void {
    this.#add("ok", message, { fix: null, repair: null });
  }

  /** Adds a line that a person should look at. */
  warn(message: string, fix: string | null = null, repair: Finding["repair"] = null): void {
    this.#add("warning", message, { fix, repair });
  }

  /** Adds a problem, after which `gate doctor` fails. */
  fail(message: string, fix: string | null = null, repair: Finding["repair"] = null): void {
    this.#add("problem", message, { fix, repair });
  }

  /** Adds one line for many things: names the first ones and counts the others. */
  warnAll(
    things: readonly string[],
    what: string,
    fix: string,
    repair: Finding["repair"] = null,
  ): void {
    if (things.length === 0) return;
    const shown = things.slice(0, MOST_NAMED).join(", ");
    const more = things.length > MOST_NAMED ? ` and ${things.length - MOST_NAMED} more` : "";
    this.warn(`${what}: ${shown}${more}`, fix, repair);
  }

  #add(
    level: Finding["level"],
    message: string,
    { fix, repair }: Pick<Finding, "fix" | "repair">,
  ): void {
    this.list.push({ check: this.#check, level, message, fix, repair });
  }
}

const MOST_NAMED = 5;

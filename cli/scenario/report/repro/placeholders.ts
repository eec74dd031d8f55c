import { isCredential } from "../../execute/headers.ts";

/** `{{NAME}}`: a value that a pack does not hold; whoever repeats it sets `NAME`. */
const PLACEHOLDER = /\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}/g;

/** What stands in a report in place of a secret. */
const TAKEN_OUT = /\[secret ([A-Za-z0-9_]+)\]/g;

/** Headers that may be written down: credentials and secrets become placeholders. */
export function withoutValues(headers: Record<string, string>, owner = ""): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const text = withPlaceholders(value);
      const isOpen = isCredential(name) && namesIn(text).length === 0;
      return [name, isOpen ? `{{${variableOf(owner, name)}}}` : text];
    }),
  );
}

/** The same value with `{{NAME}}` wherever a secret was taken out. */
export function withPlaceholders<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll(TAKEN_OUT, "{{$1}}"));
}

/** The names of all placeholders but `uniq`, each once, in the order of the text. */
export function namesIn(...texts: string[]): string[] {
  const names = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!));
  return [...new Set(names)].filter((name) => name !== "uniq");
}

/** One shell word in which placeholders are variables; `UNIQ` stands for `{{uniq}}`. */
export function shellWord(text: string): string {
  // Split at a group: every second part is a name.
  const words = text.split(PLACEHOLDER).map((part, n) =>
    n % 2 === 1 ? `"$${part === "uniq" ? "UNIQ" : part}"` : part === "" ? "" : quote(part)
  );
  return words.join("") || "''";
}

/** A text as one word of a POSIX shell. */
export function quote(text: string): string {
  return /^[\w./:@=+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function variableOf(owner: string, header: string): string {
  return [owner, header].filter((part) => part !== "").join("_").replaceAll(/\W/g, "_")
    .toUpperCase();
}

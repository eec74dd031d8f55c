import { Buffer } from "node:buffer";
import { ToolError } from "./errors.ts";

/** Values that requests may carry and that no output may show. */
export class Secrets {
  readonly #values: Map<string, string>;
  readonly #forms: [string, string][];

  private constructor(values: Map<string, string>) {
    this.#values = values;
    // Longest first: a secret may be part of another one, or of its encoded form.
    this.#forms = [...values].flatMap(([name, value]) =>
      formsOf(value).map((form): [string, string] => [form, `[secret ${name}]`])
    ).sort(([a], [b]) => b.length - a.length);
  }

  /** Reads `NAME=value`, or `NAME` from the environment. @throws ToolError */
  static parse(given: string[], env: Record<string, string | undefined>): Secrets {
    const values = new Map<string, string>();
    for (const text of given) {
      const match = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?$/s.exec(text);
      const value = match?.[2] ?? env[match?.[1] ?? ""];
      if (!match || !value) {
        const name = match?.[1] ?? "NAME";
        throw new ToolError(`Cannot use --secret: ${name} has no value`, {
          next: `--secret ${name}=value, or set ${name} in the environment`,
        });
      }
      values.set(match[1]!, value);
    }
    return new Secrets(values);
  }

  /** Fills in each `{{NAME}}` of a known secret. */
  fill(text: string): string {
    return text.replaceAll(
      /\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}/g,
      (whole, name: string) => this.#values.get(name) ?? whole,
    );
  }

  /** Returns a copy without the secrets, whatever their encoding. */
  redact<T>(value: T): T {
    if (this.#forms.length === 0) return value;
    if (typeof value === "string") return this.#redactText(value) as T;
    if (Array.isArray(value)) return value.map((one) => this.redact(one)) as T;
    if (typeof value !== "object" || value === null) return value;
    const pairs = Object.entries(value)
      .map(([key, one]) => [this.#redactText(key), this.redact(one)]);
    return Object.fromEntries(pairs) as T;
  }

  #redactText(text: string): string {
    let clean = text;
    for (const [form, name] of this.#forms) clean = clean.replaceAll(form, name);
    return clean;
  }
}

/** The value as it is, URL-encoded, in base64 (padded or not, both alphabets) and as JSON text. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value, "utf8");
  const forms = [
    value,
    encodeURIComponent(value),
    encodeURIComponent(value).replaceAll("%20", "+"),
    bytes.toString("base64"),
    bytes.toString("base64").replace(/=+$/, ""),
    bytes.toString("base64url"),
    JSON.stringify(value).slice(1, -1),
  ];
  return [...new Set(forms)].filter((form) => form.length >= 3);
}

const MAX_TEXT = 4_096;
const MAX_ENTRIES = 100;
const MAX_DEPTH = 8;
const SECRET =
  /pass(word|phrase|wd)?$|secret|token|api_?key|credential|authorization|cookie|private_?key/i;

/** The input of a tool that the gate only records: secrets taken out, long values cut. */
export function redactInput(input: Record<string, unknown>): Record<string, unknown> {
  return redactObject(input, 0);
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cut(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "[too deep]";
  if (Array.isArray(value)) {
    return value.slice(0, MAX_ENTRIES).map((entry) => redact(entry, depth + 1));
  }
  return redactObject(value as Record<string, unknown>, depth);
}

function redactObject(value: Record<string, unknown>, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).slice(0, MAX_ENTRIES).map(([name, entry]) => [
      cut(name),
      SECRET.test(name) ? "[redacted]" : redact(entry, depth + 1),
    ]),
  );
}

function cut(text: string): string {
  const whole = text.toWellFormed();
  if (whole.length <= MAX_TEXT) return whole;
  return `${whole.slice(0, MAX_TEXT).toWellFormed()} [${whole.length - MAX_TEXT} more characters]`;
}

import type { Exec } from "../schema.ts";
import type { HttpExchange } from "./http.ts";

const STACK_TRACE =
  /\n\s+at [^\n]{1,200}\([^\n]{1,300}:\d+:\d+\)|\\n\s+at [^\n]{1,200}:\d+:\d+|Traceback \(most recent call last\)|\n\s+at [\w.$]{1,200}\([\w]{1,100}\.java:\d+\)|goroutine \d+ \[running\]|panicked at/;
const DATABASE_ERROR =
  /SQLITE_[A-Z]+|syntax error at or near|ORA-\d{5}|You have an error in your SQL syntax|SQLSTATE\[/;

/** True for a text with a stack trace. */
export function showsStackTrace(body: string): boolean {
  return STACK_TRACE.test(body);
}

/** True for a text with an error message of a database. */
export function showsDatabaseError(body: string): boolean {
  return DATABASE_ERROR.test(body);
}

const SECRET =
  /"((?:[a-z]+_)?(?:password|passwd|pwd|password_?hash|hashed_?password|cvv2?|cvc|(?:reset_)?pin|private_?key|client_?secret))"\s*:\s*("(?:[^"\\]|\\.){1,500}"|\d+)/gi;
const HASH = /\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$argon2(?:id|i|d)\$|pbkdf2[:_]sha\d+/;
/** Values that stand for a secret, or describe a field. */
const MASKED = /^"?(\*+|x+|hidden|redacted|string|null|updated\.?|required|\[.*\])"?$/i;

/** A password, a hash, a card code or a PIN in a JSON answer, in words; null without one. */
export function secretOf(body: string): string | null {
  if (!/^\s*[{[]/.test(body)) return null;
  for (const [, name = "", value = ""] of body.matchAll(SECRET)) {
    if (!MASKED.test(value) && !/\s/.test(value.trim())) return `the value of "${name}"`;
  }
  return HASH.test(body) ? "the hash of a password" : null;
}

/** The forbidden content that an answer shows, in words; null when there is none. */
export function leakOf({ forbidden }: Exec, { headers, body }: HttpExchange): string | null {
  if (!forbidden) return null;
  const names = headers.map(([name]) => name.toLowerCase());
  const header = forbidden.headers?.find((one) => names.includes(one.toLowerCase()));
  if (header !== undefined) return `the answer has the header "${header}"`;
  const text = forbidden.texts?.find((one) => body.includes(one));
  if (text !== undefined) return `the answer shows "${text}"`;
  const type = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  const markup = /html/i.test(type) && forbidden.markup?.find((one) => body.includes(one));
  if (markup) return `the page holds "${markup}" as it was sent`;
  const secret = forbidden.secrets ? secretOf(body) : null;
  if (secret !== null) return `the answer shows ${secret}`;
  if (!forbidden.traces) return null;
  if (showsStackTrace(body)) return "the body shows a stack trace";
  return showsDatabaseError(body) ? "the body shows a database error" : null;
}

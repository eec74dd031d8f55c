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
  if (!forbidden.traces) return null;
  if (showsStackTrace(body)) return "the body shows a stack trace";
  return showsDatabaseError(body) ? "the body shows a database error" : null;
}

import type { Exec } from "../schema.ts";
import type { HttpExchange } from "./http.ts";

const STACK_TRACE =
  /(?:\n|<br>)(?:\s|&nbsp;)+at [^\n]{1,200}\([^\n]{1,300}:\d+:\d+\)|\\n\s+at [^\n]{1,200}:\d+:\d+|Traceback \(most recent call last\)|\n\s+at [\w.$]{1,200}\([\w]{1,100}\.java:\d+\)|goroutine \d+ \[running\]|panicked at/;
const DATABASE_ERROR =
  /SQLITE_[A-Z]+|syntax error at (?:or near|end of input)|ORA-\d{5}|You have an error in your SQL syntax|SQLSTATE\[|sqlite3\.\w*Error|near \\?"[^"\n]{1,40}\\?": syntax error|unrecognized token: |psycopg2?\.|unterminated quoted string|Unclosed quotation mark|Sequelize\w*Error|MongoServerError|PG::\w+Error|com\.mysql\.|org\.hibernate\.|QueryFailedError/;
/** The pages that frameworks show to their developers. */
const DEBUG_PAGE =
  /Werkzeug Debugger|You're seeing this error because you have <code>DEBUG = True|Whitelabel Error Page|<title>[^<]{0,80}Whoops!|Ignition\\|ActionController::|Runtime Error<\/title>|class="laravel|Symfony\\Component/;

/** True for a text with a stack trace. */
export function showsStackTrace(body: string): boolean {
  return STACK_TRACE.test(body);
}

/** True for a text with an error message of a database. */
export function showsDatabaseError(body: string): boolean {
  return DATABASE_ERROR.test(body);
}

/** True for a page that a framework shows to its developers. */
export function showsDebugPage(body: string): boolean {
  return DEBUG_PAGE.test(body);
}

/** The internal detail of the service that a body shows, such as `a stack trace`; null for none. */
export function internalDetailIn(body: string): string | null {
  if (showsStackTrace(body)) return "a stack trace";
  if (showsDatabaseError(body)) return "a database error";
  return showsDebugPage(body) ? "a debug page" : null;
}

/** Names that only the environment of a process has, all three. */
const ENVIRONMENT = [
  /"PATH"\s*:\s*"/,
  /"(HOME|USERPROFILE)"\s*:\s*"/,
  /"(PWD|LANG|HOSTNAME|SHLVL)"\s*:\s*"/,
];

const SECRET =
  /"((?:[a-z]+_)?(?:password|passwd|pwd|password_?hash|hashed_?password|cvv2?|cvc|(?:reset_)?pin|private_?key|(?:client|jwt|api|app)_?secret|secret_?key|signing_?key))"\s*:\s*("(?:[^"\\]|\\.){1,500}"|\d+)/gi;
const HASH = /\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$argon2(?:id|i|d)\$|pbkdf2[:_]sha\d+/;
const PROMPT = /"system_?(?:prompt|message|instructions?)"\s*:\s*"(?:[^"\\]|\\.){40}/i;
/** Values that stand for a secret, or describe a field. */
const MASKED = /^"?(\*+|x+|hidden|redacted|string|null|updated\.?|required|\[.*\])"?$/i;

/** The first bytes of a database, or of a copy of one. */
const DATABASE =
  // deno-lint-ignore no-control-regex -- the file's format has a NUL there
  /^(SQLite format 3\u0000|PGDMP|-- (MySQL|MariaDB|PostgreSQL) (database )?dump\b)/;
const PRIVATE_KEY = /^-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/;

/** The kind of secret that an answer shows, in words, such as a private key; null without one. */
export function secretOf(body: string): string | null {
  if (DATABASE.test(body)) return "a whole database";
  if (PRIVATE_KEY.test(body)) return "a private key";
  if (!/^\s*[{[]/.test(body)) return null;
  for (const [, name = "", value = ""] of body.matchAll(SECRET)) {
    // PWD is the working directory of a process.
    const isPath = value.startsWith('"/');
    if (!MASKED.test(value) && !/\s/.test(value.trim()) && !isPath) return `the value of "${name}"`;
  }
  if (ENVIRONMENT.every((name) => name.test(body))) {
    return "the environment of the server's process";
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
  if (forbidden.prompts && PROMPT.test(body)) {
    return "the answer shows the instructions of a language model";
  }
  if (!forbidden.traces) return null;
  const detail = internalDetailIn(body);
  return detail === null ? null : `the body shows ${detail}`;
}

import { readFileSync } from "node:fs";
import type { Pieces } from "./raw_http.ts";

/** One line of `corpora/http.json`; the file itself says what each field means. */
export interface CorpusCase {
  id: string;
  category: string;
  name: string;
  method: string;
  target: string;
  host: string | null;
  headers: [string, string][];
  auth: "valid" | "agent" | "page" | "none";
  expect: {
    class?: string;
    any_of?: number[];
    exactly_one_2xx?: boolean;
    losers?: number[];
  };
  must: string[];
  strength: "required" | "recommended";
  body?: string;
  body_b64?: string;
  body_repeat?: {
    prefix: string;
    unit: string;
    count: number;
    suffix: string;
    chunked?: boolean;
  };
  raw?: string;
  raw_b64?: string;
  no_content_length?: boolean;
  headers_repeat?: { name: string; count: number };
  repeat?: number;
  parallel?: number;
  against?: string;
  hold_open_s?: number;
  never_read?: boolean;
  decides?: boolean;
}

/** The values of the placeholders of one case. */
export type Words = Record<string, string>;

/** Every case of the corpus. */
export function readCorpus(): CorpusCase[] {
  const path = new URL("./corpora/http.json", import.meta.url);
  return JSON.parse(readFileSync(path, "utf8")).requests;
}

/** The text with its placeholders filled in; one that is not known is an error. */
export function fill(text: string, words: Words): string {
  return text
    .replaceAll(/\{REP:(.*?):(\d+)\}/g, (_, unit: string, count: string) => {
      return unit.repeat(Number(count));
    })
    .replaceAll(/\{([A-Z_]+)\}/g, (whole: string, name: string) => {
      if (!Object.hasOwn(words, name)) throw new Error(`nothing stands for ${whole}`);
      return words[name]!;
    });
}

/** The placeholders a case uses. */
export function placeholders(corpus_case: CorpusCase): Set<string> {
  const names = [...JSON.stringify(corpus_case).matchAll(/\{([A-Z_]+)\}/g)].map((match) =>
    match[1]!
  );
  return new Set(names);
}

/** The bytes of a case, as they go over the wire. */
export function bytesOf(given: CorpusCase, words: Words, target = given.target): Pieces {
  if (given.raw_b64) return new Uint8Array(Buffer.from(given.raw_b64, "base64"));
  if (given.raw !== undefined) return fill(given.raw, words);
  const body = bodyOf(given, words);
  const headers = given.headers.map((
    [name, value],
  ): [string, string] => [name, fill(value, words)]);
  const { name = "", count = 0 } = given.headers_repeat ?? {};
  for (let i = 0; i < count; i++) headers.push([`${name}-${i}`, "1"]);
  const head = [
    `${given.method} ${fill(target, words)} HTTP/1.1\r\n`,
    given.host === null ? "" : `Host: ${fill(given.host, words)}\r\n`,
    ...headers.map(([header, value]) => `${header}: ${value}\r\n`),
    words.AUTH,
    body && !given.no_content_length ? `Content-Length: ${body.length}\r\n` : "",
    "Connection: close\r\n\r\n",
  ];
  return given.body_repeat?.chunked
    ? chunked(head.join(""), given.body_repeat)
    : [head.join(""), body ?? ""];
}

function bodyOf(given: CorpusCase, words: Words): Uint8Array | null {
  if (given.body_b64) return new Uint8Array(Buffer.from(given.body_b64, "base64"));
  if (given.body_repeat && !given.body_repeat.chunked) {
    const { prefix, unit, count, suffix } = given.body_repeat;
    return new TextEncoder().encode(prefix + unit.repeat(count) + suffix);
  }
  return given.body === undefined ? null : new TextEncoder().encode(fill(given.body, words));
}

function* chunked(head: string, { prefix, unit, count, suffix }: Repeat): Iterable<string> {
  const piece = unit.repeat(16_384);
  const asChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  yield head;
  yield asChunk(prefix);
  for (let sent = 0; sent < count; sent += 16_384) {
    yield asChunk(piece.slice(0, Math.min(16_384, count - sent)));
  }
  yield asChunk(suffix);
  yield "0\r\n\r\n";
}

type Repeat = NonNullable<CorpusCase["body_repeat"]>;

/** Why this answer is not among those the case allows, or null. */
export function misjudged(given: CorpusCase, status: number, isPage: boolean): string | null {
  const classes = (given.expect.class ?? "").split("|");
  const any_of = given.expect.any_of;
  if (status === 0) return classes.includes("closed") ? null : "the connection ended, unanswered";
  if (status >= 200 && status < 300 && classes.includes("2xx_spa") && isPage) return null;
  const kind = `${Math.floor(status / 100)}xx`;
  if (any_of && any_of.some((code) => Math.floor(code / 100) === Math.floor(status / 100))) {
    return any_of.includes(status) ? null : `${status} is not one of ${any_of.join(", ")}`;
  }
  return classes.includes(kind) || any_of?.includes(status) ? null : `${status} is not ${classes}`;
}

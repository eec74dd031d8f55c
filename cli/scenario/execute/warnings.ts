import type { Exec } from "../schema.ts";
import { hasNoBody, type HttpExchange } from "./http.ts";
import { showsDatabaseError, showsDebugPage, showsStackTrace } from "./leaks.ts";

/** A breach of HTTP's own rules. It never changes a verdict. */
export interface Warning {
  /** Web Fuzzing Commons code, or CWE number. */
  code: string;
  message: string;
}

interface Rule extends Warning {
  when: (
    seen: { exec: Exec; exchange: HttpExchange; header: (name: string) => string | null },
  ) => boolean;
}

/** Checked in this order. */
const RULES: Rule[] = [
  {
    code: "WFC-105",
    message: "401 without WWW-Authenticate (RFC 9110, 15.5.2)",
    when: ({ exchange, header }) => exchange.status === 401 && header("www-authenticate") === null,
  },
  {
    code: "WFC-106",
    message: "405 without Allow (RFC 9110, 15.5.6)",
    when: ({ exchange, header }) => exchange.status === 405 && header("allow") === null,
  },
  {
    code: "WFC-103",
    message: "201 in answer to a DELETE",
    when: ({ exec, exchange }) => exec.method === "DELETE" && exchange.status === 201,
  },
  {
    code: "WFC-107",
    message: "a redirect without Location",
    when: ({ exchange, header }) =>
      [301, 302, 303, 307, 308].includes(exchange.status ?? 0) && header("location") === null,
  },
  {
    code: "WFC-108",
    message: "a body without Content-Type",
    when: ({ exec, exchange, header }) =>
      exchange.body_bytes > 0 && header("content-type") === null &&
      !hasNoBody(exec.method ?? "GET", exchange.status),
  },
  {
    code: "WFC-105",
    message: "a body after a head that allows none (RFC 9112, 6.3)",
    when: ({ exec, exchange, header }) =>
      hasNoBody(exec.method ?? "GET", exchange.status) && exchange.body_bytes > 0 ||
      exchange.status === 204 &&
        (Number(header("content-length")) > 0 || header("transfer-encoding") !== null),
  },
  {
    code: "CWE-525",
    message: "an answer to somebody who is logged in may be kept by any cache",
    when: ({ exec, exchange, header }) =>
      (exec.presumes ?? []).includes("login") && exchange.status === 200 &&
      /(^|[\s,])(public|s-maxage)\b/i.test(header("cache-control") ?? ""),
  },
  {
    code: "CWE-209",
    message: "the body shows a stack trace",
    when: ({ exchange }) => showsStackTrace(exchange.body),
  },
  {
    code: "CWE-209",
    message: "the body is a framework's debug page",
    when: ({ exchange }) => showsDebugPage(exchange.body),
  },
  {
    code: "CWE-200",
    message: "a header names the server's exact version",
    when: ({ header }) =>
      /\/\d+\.\d+/.test(header("server") ?? "") || /\d+\.\d+/.test(header("x-powered-by") ?? ""),
  },
  {
    code: "CWE-209",
    message: "the body shows a database error",
    when: ({ exchange }) => showsDatabaseError(exchange.body),
  },
];

/** The warnings for one answer. */
export function semanticsWarnings(exec: Exec, exchange: HttpExchange): Warning[] {
  if (exchange.status === null) return [];
  const header = (name: string) =>
    exchange.headers.find(([key]) => key.toLowerCase() === name)?.[1] ?? null;
  return RULES.filter(({ when }) => when({ exec, exchange, header }))
    .map(({ code, message }) => ({ code, message }));
}

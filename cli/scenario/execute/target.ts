import { existsSync } from "node:fs";
import { sep } from "node:path";
import { ToolError } from "../errors.ts";

/** The parts of `--target` that a socket and a request line need. */
export interface Target {
  /** As given, without a slash at the end. */
  url: string;
  secure: boolean;
  hostname: string;
  /** The resolved address, once it is known. */
  address?: string;
  port: number;
  /** The value of the `Host` header. */
  host: string;
  /** Path of the base URL, without a slash at the end. */
  base: string;
}

/** `--target cli`: executes command lines only, without a service. */
export const CLI_TARGET: Target = {
  url: "cli",
  secure: false,
  hostname: "",
  port: 0,
  host: "",
  base: "",
};

/** Parses `--target`. @throws ToolError unless it is an http or https base URL or cli */
export function parseTarget(text: string): Target {
  if (text === CLI_TARGET.url) return CLI_TARGET;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ToolError(
      `Cannot use the target "${text}": it must be an http or https URL, or cli`,
      { next: "--target http://127.0.0.1:3000" },
    );
  }
  if (url.username || url.password) {
    // Error messages end up in CI logs, so this one does not repeat the password.
    throw new ToolError(`Cannot use the target at ${url.host}: it must not hold a password`, {
      next: 'give credentials as -H "Authorization: …"',
    });
  }
  if (url.search || url.hash) {
    throw new ToolError(`Cannot use the target "${text}": it must end with its path`, {
      next: `--target ${url.origin}${url.pathname}`,
    });
  }
  const secure = url.protocol === "https:";
  const base = url.pathname.replace(/\/+$/, "");
  return {
    url: url.origin + base,
    secure,
    hostname: resolvable(url.hostname.replace(/^\[|\]$/g, "")),
    port: Number(url.port) || (secure ? 443 : 80),
    host: url.host,
    base,
  };
}

/** An image from scratch has no `/etc/hosts`, and `localhost` is this machine all the same. */
function resolvable(hostname: string): string {
  const isLocal = /^(localhost|.+\.localhost)$/i.test(hostname);
  return isLocal && sep === "/" && !existsSync("/etc/hosts") ? "127.0.0.1" : hostname;
}

/**
 * The request target of `path` below the base, joined by exactly one slash. Normalises nothing and
 * percent-encodes only what a request line cannot hold: blanks, controls and non-ASCII.
 */
export function requestPath(target: Target, path: string): string {
  const separator = path === "" || /^[?#]/.test(path) ? "" : "/";
  const joined = target.base + separator + path.replace(/^\//, "");
  const line = joined.startsWith("/") ? joined : `/${joined}`;
  // deno-lint-ignore no-control-regex
  return line.replace(/[\u0000-\u0020\u007f-\u{10ffff}]/gu, encode);
}

/** True for a target on this machine. */
export function isLoopback({ hostname }: Target): boolean {
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|::1)$/i.test(hostname);
}

function encode(char: string): string {
  // A lone surrogate has no UTF-8 form; encoders send the replacement character.
  return encodeURIComponent(char.isWellFormed() ? char : "\uFFFD");
}

import { ToolError } from "../errors.ts";

/** Where requests go: the parts of `--target` that a socket and a request line need. */
export interface Target {
  /** As given, without a slash at the end. */
  url: string;
  secure: boolean;
  hostname: string;
  /** What the name was resolved to, once that matters. */
  address?: string;
  port: number;
  /** What the `Host` header says. */
  host: string;
  /** Path of the base URL, without a slash at the end. */
  base: string;
}

/** `--target cli`: only command lines are executed, so no service is needed. */
export const CLI_TARGET: Target = {
  url: "cli",
  secure: false,
  hostname: "",
  port: 0,
  host: "",
  base: "",
};

/** Reads `--target`. @throws ToolError for anything but an http or https base URL */
export function parseTarget(text: string): Target {
  if (text === CLI_TARGET.url) return CLI_TARGET;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ToolError(
      `Cannot use the target "${text}": it must be an http or https URL, or cli`,
      {
        next: "--target http://127.0.0.1:3000",
      },
    );
  }
  if (url.username || url.password) {
    // Not named as it was given: what is told here ends in the logs of a CI.
    throw new ToolError(`Cannot use the target at ${url.host}: it must not hold a password`, {
      next: 'give credentials as -H "Authorization: …"',
    });
  }
  if (url.search || url.hash) {
    throw new ToolError(`Cannot use the target "${text}": it must end with its path`);
  }
  const secure = url.protocol === "https:";
  const base = url.pathname.replace(/\/+$/, "");
  return {
    url: url.origin + base,
    secure,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port) || (secure ? 443 : 80),
    host: url.host,
    base,
  };
}

/**
 * The request target of `path` below the base, joined by exactly one slash. Nothing is normalised;
 * only what no request line can hold (blanks, controls, non-ASCII) is percent-encoded.
 */
export function requestPath(target: Target, path: string): string {
  const separator = path === "" || /^[?#]/.test(path) ? "" : "/";
  const joined = target.base + separator + path.replace(/^\//, "");
  const line = joined.startsWith("/") ? joined : `/${joined}`;
  // deno-lint-ignore no-control-regex
  return line.replace(/[\u0000-\u0020\u007f-\u{10ffff}]/gu, encode);
}

/** True where a mistake can only hurt this machine. */
export function isLoopback({ hostname }: Target): boolean {
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|::1)$/i.test(hostname);
}

function encode(char: string): string {
  // A lone surrogate has no UTF-8 form; the replacement character is what every encoder sends.
  return encodeURIComponent(char.isWellFormed() ? char : "\uFFFD");
}

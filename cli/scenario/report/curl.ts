import type { Scenario } from "../schema.ts";

/** A longer body is in the pack and not in the command line of a finding. */
export const SHORT_BODY = 500;

/** How `curlOf` writes a request. */
export interface CurlOptions {
  /** Quotes one word. */
  word?: (text: string) => string;
  insecure?: boolean;
}

/** A command line that sends the request or runs the command; null for prose. */
export function curlOf(
  { exec }: Scenario,
  target: string,
  { word = quote, insecure = false }: CurlOptions = {},
): string | null {
  if (!exec) return null;
  if (exec.mode === "cli") return exec.command!.map(quote).join(" ");
  const path = exec.path ?? "";
  const separator = path === "" || /^[?#/]/.test(path) ? "" : "/";
  const trust = insecure ? ["-k"] : [];
  const parts = ["curl", "-i", ...trust, "--path-as-is", "-X", exec.method ?? "GET"];
  for (const [name, value] of Object.entries(exec.headers ?? {})) {
    parts.push("-H", word(`${name}: ${value}`));
  }
  if (exec.body !== undefined) parts.push("--data-binary", word(exec.body));
  parts.push(word(target + separator + path));
  const one = parts.join(" ");
  const count = exec.concurrency ?? 0;
  return count > 1 ? `for i in $(seq ${count}); do ${one} & done; wait` : one;
}

/** A text as one word of a POSIX shell. */
export function quote(text: string): string {
  return /^[\w./:@=+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

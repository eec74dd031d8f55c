import type { Scenario } from "../schema.ts";
import { quote } from "./repro/placeholders.ts";

/** How a request is written down for a shell. */
export interface CurlOptions {
  /** Quotes one word. */
  word?: (text: string) => string;
  insecure?: boolean;
}

/** A command line that sends the same request, or runs the same words. */
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

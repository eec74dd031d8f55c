import type { Scenario } from "../schema.ts";

/** A command line that sends the same request again, quoted for a POSIX shell. */
export function curlOf({ exec }: Scenario, target: string): string | null {
  if (!exec || exec.mode !== "http") return null;
  const path = exec.path ?? "";
  const separator = path === "" || /^[?#/]/.test(path) ? "" : "/";
  const parts = ["curl", "-i", "--path-as-is", "-X", exec.method ?? "GET"];
  for (const [name, value] of Object.entries(exec.headers ?? {})) {
    parts.push("-H", quote(`${name}: ${value}`));
  }
  if (exec.body !== undefined) parts.push("--data-binary", quote(exec.body));
  parts.push(quote(target + separator + path));
  const one = parts.join(" ");
  const count = exec.concurrency ?? 0;
  return count > 1 ? `for i in $(seq ${count}); do ${one} & done; wait` : one;
}

function quote(text: string): string {
  return /^[\w./:@=+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

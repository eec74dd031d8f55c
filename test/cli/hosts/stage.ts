import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { hostById, userFiles } from "../../../cli/hosts/hosts.ts";
import type { AgentHost } from "../../../server/hosts/host.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

/** A terminal on which one agent host is installed, and the host's config file. */
export interface HostStage extends TestTerminal {
  host: AgentHost;
  file: string;
  format: "json" | "jsonc" | "toml";
}

export async function createHostStage(id: string): Promise<HostStage> {
  // The tests must not find the real machine's hosts.
  const terminal = await createTerminal({ PATH: "/nonexistent" });
  const host = hostById(id);
  const machine = { os: "linux", home: terminal.folder, env: terminal.env } as const;
  const { path: file, sign } = userFiles(host, machine)[0]!;
  mkdirSync(sign, { recursive: true });
  mkdirSync(dirname(file), { recursive: true });
  const { format } = host.mcp;
  return { ...terminal, host, file, format: format === "json-with-comments" ? "jsonc" : format };
}

/** A document with these servers and other settings. */
export function sample(stage: HostStage, servers: Record<string, Record<string, unknown>>): string {
  if (stage.format !== "toml") {
    const document = { first: { a: [1, 2] }, [stage.host.mcp.key]: servers, last: "é" };
    return `${JSON.stringify(document, null, 4)}\n`;
  }
  const tables = Object.entries(servers).map(([name, entry]) =>
    [
      `[mcp_servers.${name}]`,
      ...Object.entries(entry).map(([key, value]) => `${key} = ${toml(value)}`),
    ]
      .join("\n")
  );
  return `first = [ 1,2 ]\n\n${tables.map((table) => `${table}\n\n`).join("")}[last]\nx = 'é'\n`;
}

function toml(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return JSON.stringify(value);
  }
  const pairs = Object.entries(value).map(([key, inner]) => `${key} = ${toml(inner)}`);
  return `{ ${pairs.join(", ")} }`;
}

/** An entry in the host's format. */
export function entry(stage: HostStage, words: string[], env?: Record<string, string>) {
  if (stage.host.id === "opencode") return { command: words, ...(env && { environment: env }) };
  return { command: words[0], args: words.slice(1), ...(env && { env }) };
}

/** The servers in the file, parsed as the host does. */
// deno-lint-ignore no-explicit-any
export function serversIn(stage: HostStage): Record<string, any> {
  const text = readFileSync(stage.file, "utf8").replace(/^\uFEFF/, "");
  const document = stage.format === "toml"
    ? parseToml(text)
    : stage.format === "json"
    ? JSON.parse(text)
    : parseJsonc(text);
  return document[stage.host.mcp.key];
}

export function write(stage: HostStage, text: string, mode = 0o640): void {
  writeFileSync(stage.file, text);
  chmodSync(stage.file, mode);
}

/** The path, mode, time and content of every file below a folder. */
export function snapshot(folder: string): string[] {
  return readdirSync(folder).sort().flatMap((name) => {
    const path = join(folder, name);
    const stats = lstatSync(path);
    const what = `${path} ${stats.mode.toString(8)} ${stats.isDirectory() ? "" : stats.mtimeMs}`;
    if (stats.isDirectory()) return [what, ...snapshot(path)];
    return [stats.isFile() ? `${what} ${readFileSync(path).toString("base64")}` : what];
  });
}

/**
 * The single piece inserted into a text; a separate comma may precede it. Null for any other
 * change.
 */
export function insertedInto(before: string, after: string): string | null {
  const start = commonStart(before, after);
  const rest = before.length - start;
  const end = after.length - rest;
  if (end >= start && after.slice(end) === before.slice(start)) return after.slice(start, end);
  if (after[start] !== ",") return null;
  const inner = insertedInto(before.slice(start), after.slice(start + 1));
  return inner === null ? null : `,${inner}`;
}

function commonStart(a: string, b: string): number {
  let n = 0;
  while (n < a.length && a[n] === b[n]) n++;
  return n;
}

import { findCycles, findFeatureCycles } from "./cycles.ts";
import { type Node, type Source, textOf } from "./source.ts";

/** A rule on the content of the files: answers one line per breach. */
export type Rule = (sources: readonly Source[]) => string[];

const SHIPPED = /^(server|cli|ui|dist)\/|^mod\.ts$/;
const RUNTIME_FILES = /^server\/runtime\/|^cli\/main\.ts$|^dist\/build\.ts$/;
const SQL_FILES = /^server\/(.*\/)?(\w+_)?store\.ts$|^server\/db\//;
const WIRING_FILES = /^server\/(projects\/project|daemon)\.ts$/;
const SERVICES = [
  "Actions",
  "Sessions",
  "Grants",
  "Audit",
  "Config",
  "Project",
  "Ledger",
  "Journal",
  "Hold",
];
const GLOBALS = ["Deno", "Bun", "process"];
const SQL = new RegExp(
  "^\\s*(?:" + [
    "SELECT\\s",
    "INSERT\\s+(?:OR\\s+\\w+\\s+)?INTO\\s",
    "UPDATE\\s+\\w+\\s+SET\\s",
    "DELETE\\s+FROM\\s",
    "(?:CREATE|DROP|ALTER)\\s+(?:TEMP\\s+|UNIQUE\\s+|VIRTUAL\\s+)?(?:TABLE|INDEX|TRIGGER|VIEW)\\s",
    "PRAGMA\\s",
    "BEGIN\\s+(?:EXCLUSIVE|IMMEDIATE|DEFERRED)",
    "VACUUM\\s",
    "select\\s[^]*\\sfrom\\s",
    "insert\\s+into\\s",
    "delete\\s+from\\s",
    "create\\s+table\\s",
    "pragma\\s",
  ].join("|") + ")",
);

/** The rules that no import shows, by the sentence each stands for. */
export const RULES: Record<string, Rule> = {
  "no import cycle between files, types included": findCycles,
  "no import cycle between features, types included": findFeatureCycles,
  "Deno.*, Bun.* and process.* only in the runtime, the entry and the build": (sources) =>
    scan(sources, outside(RUNTIME_FILES), (node) => {
      if (node.type === "MemberExpression" && isGlobal(node.object as Node)) return "uses";
      if (node.type === "BinaryExpression" && node.operator === "in") {
        return GLOBALS.includes(textOf(node.left as Node) ?? "") ? "asks for" : null;
      }
      return null;
    }),
  "SQL only in store.ts, *_store.ts and db/": (sources) =>
    scan(sources, outside(SQL_FILES), (node) => SQL.test(textOf(node) ?? "") ? "has SQL" : null),
  "only Project and Daemon construct services": (sources) =>
    scan(sources, outside(WIRING_FILES), (node) => {
      const made = node.type === "NewExpression" ? node.callee as Node : null;
      return made && SERVICES.includes(String(made.name)) ? `makes ${made.name}` : null;
    }),
  "no index.ts, no utils, no barrel but mod.ts": (sources) =>
    sources.filter(({ path, isBarrel }) =>
      /(^|\/)(index|utils?|helpers?_utils?)\.tsx?$/.test(path) || /(^|\/)utils?\//.test(path) ||
      (isBarrel && path !== "mod.ts")
    ).map(({ path }) => path),
  "nothing is left to be done": (sources) =>
    sources.flatMap(({ path, comments }) =>
      comments.filter(({ text }) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text))
        .map(({ line }) => `${path}:${line} puts something off`)
    ),
  "files and folders are in snake_case": (sources) =>
    sources.filter(({ path }) =>
      !/^([a-z0-9_]+\/)*[a-z0-9_]+(\.(test|bench|config|d))?\.tsx?$/.test(path)
    )
      .map(({ path }) => path),
};

type Look = (node: Node, source: Source) => string | null;

function scan(sources: readonly Source[], where: (path: string) => boolean, look: Look) {
  const found: string[] = [];
  for (const source of sources.filter(({ path }) => where(path))) {
    source.walk((node) => {
      const what = look(node, source);
      if (what) found.push(`${source.path}:${source.lineOf(node.start)} ${what}`);
    });
  }
  return found;
}

function outside(allowed: RegExp) {
  return (path: string) => SHIPPED.test(path) && !allowed.test(path);
}

function isGlobal(node: Node): boolean {
  if (node.type === "Identifier") return GLOBALS.includes(String(node.name));
  const property = node.property as Node | undefined;
  return node.type === "MemberExpression" && (node.object as Node).name === "globalThis" &&
    GLOBALS.includes(String(property?.name));
}

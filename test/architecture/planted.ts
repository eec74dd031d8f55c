/** A tree of files that breaks one rule, and the line the rule must answer. */
export interface Planted {
  rule: string;
  files: Record<string, string>;
  breach: string;
}

/** At least one broken tree for each rule. */
export const PLANTED: Planted[] = [
  layer(
    "schema.ts imports only zod, other schema.ts and the table of tools",
    "server/a/schema.ts",
    "../errors.ts",
  ),
  layer(
    "schema.ts imports only zod, other schema.ts and the table of tools",
    "server/a/schema.ts",
    "node:fs",
  ),
  layer(
    "the table of tools imports nothing, so that every part can read it",
    "server/actions/tools.ts",
    "zod",
  ),
  layer("server/ never imports cli/ or ui/", "server/a/b.ts", "../../cli/main.ts"),
  layer("server/ never imports cli/ or ui/", "server/a.ts", "../ui/state.ts"),
  layer("cli/ never imports ui/", "cli/a.ts", "../ui/state.ts"),
  layer(
    "cli/ reaches actions, sessions, audit and the ledger only through client.ts",
    "cli/commands/approve.ts",
    "../../server/actions/actions.ts",
  ),
  layer("nothing that ships imports test/ or dist/", "server/a.ts", "../test/helpers.ts"),
  layer("cli/scenario/ imports nothing of server/", "cli/scenario/a.ts", "../../server/errors.ts"),
  layer("cli/scenario/ loads no native module", "cli/scenario/a.ts", "@libsql/client"),
  {
    rule:
      "ui/ sees the server only through client.ts, the types of schema.ts, the table of tools, shown/, the check of evidence and the making of a proof",
    files: { "ui/a.ts": 'import { Action } from "../server/actions/schema.ts";' },
    breach: "ui/a.ts imports ../server/actions/schema.ts",
  },
  {
    rule:
      "ui/ sees the server only through client.ts, the types of schema.ts, the table of tools, shown/, the check of evidence and the making of a proof",
    files: { "ui/a.ts": 'import type { App } from "../server/app.ts";' },
    breach: "ui/a.ts imports ../server/app.ts",
  },
  layer("the check of evidence runs in a browser too", "server/evidence/check.ts", "node:crypto"),
  layer("the making of a proof runs in a browser too", "server/proof/statement.ts", "node:crypto"),
  layer(
    "client.ts brings only types of the server and the check of a challenge with it",
    "server/client.ts",
    "./errors.ts",
  ),
  layer("only server/api.ts and app.ts import an api.ts", "server/daemon.ts", "./actions/api.ts"),
  layer("mcp/ reaches actions only through client.ts", "server/mcp/a.ts", "../actions/actions.ts"),
  layer(
    "policy/ is pure: it imports schemas, errors, shown/, the records of hosts and the parser only",
    "server/policy/a.ts",
    "node:fs",
  ),
  layer(
    "policy/ is pure: it imports schemas, errors, shown/, the records of hosts and the parser only",
    "server/policy/interpret/parse.ts",
    "../../constants.ts",
  ),
  layer(
    "shown/ runs in a browser too, and imports only itself",
    "server/shown/a.ts",
    "../errors.ts",
  ),
  layer("hosts/ is pure: its records import one another only", "server/hosts/a.ts", "node:fs"),
  layer("hosts/ is pure: its records import one another only", "server/hosts/a.ts", "../errors.ts"),
  layer("node:process is for the runtime, the entry and the build", "cli/a.ts", "node:process"),
  layer("commander and prompts only in cli/", "server/a.ts", "@commander-js/extra-typings"),
  layer("commander and prompts only in cli/", "ui/a.ts", "@clack/prompts"),
  layer("imports name their file with its extension", "server/a.ts", "./b"),
  {
    rule: "no import cycle between files, types included",
    files: {
      "server/a.ts": 'import { b } from "./b.ts"; export const a = b;',
      "server/b.ts": 'export { c as b } from "./c.ts";',
      "server/c.ts": 'export const c = () => import("./a.ts");',
    },
    breach: "server/a.ts → server/b.ts → server/c.ts → server/a.ts",
  },
  {
    rule: "no import cycle between files, types included",
    files: {
      "ui/a.ts": 'import type { B } from "./b.ts"; export type A = B;',
      "ui/b.ts": 'export type B = import("./a.ts").A;',
    },
    breach: "ui/a.ts → ui/b.ts → ui/a.ts",
  },
  {
    rule: "no import cycle between features, types included",
    files: {
      "server/a/a.ts": 'import { b } from "../b/b.ts"; export const a = b;',
      "server/a/types.ts": "export type T = string;",
      "server/b/b.ts": 'import type { T } from "../a/types.ts"; export const b: T = "";',
    },
    breach: "server/a → server/b → server/a",
  },
  {
    rule: "no import cycle between features, types included",
    files: {
      "server/app.ts": 'import { a } from "./a/a.ts"; export const app = a;',
      "server/a/a.ts": 'import { b } from "../../cli/b/c/d.ts"; export const a = b;',
      "cli/b/c/d.ts": "export const b = 1;",
      "cli/b/e.ts": 'import type { app } from "../../server/app.ts"; export type E = typeof app;',
    },
    breach: "server/app.ts → server/a → cli/b → server/app.ts",
  },
  code("Deno.*, Bun.* and process.* only in the runtime, the entry and the build", {
    path: "server/a.ts",
    text: "\nexport const a = Deno.cwd();",
    breach: "server/a.ts:2 uses",
  }),
  code("Deno.*, Bun.* and process.* only in the runtime, the entry and the build", {
    path: "cli/commands/a.ts",
    text: "export const a = globalThis.process.env;",
    breach: "cli/commands/a.ts:1 uses",
  }),
  code("Deno.*, Bun.* and process.* only in the runtime, the entry and the build", {
    path: "ui/a.ts",
    text: 'export const isBun = "Bun" in globalThis;',
    breach: "ui/a.ts:1 asks for",
  }),
  code("SQL only in store.ts, *_store.ts and db/", {
    path: "server/actions/actions.ts",
    text: "const x = `UPDATE actions SET status = ${1}`;",
    breach: "server/actions/actions.ts:1 has SQL",
  }),
  code("SQL only in store.ts, *_store.ts and db/", {
    path: "cli/a.ts",
    text: 'run("select a from b");',
    breach: "cli/a.ts:1 has SQL",
  }),
  code("only Project and Daemon construct services", {
    path: "server/mcp/tools.ts",
    text: "export const a = new Actions(1);",
    breach: "server/mcp/tools.ts:1 makes Actions",
  }),
  code("no index.ts, no utils, no barrel but mod.ts", {
    path: "server/a/index.ts",
    text: "export const a = 1;",
    breach: "server/a/index.ts",
  }),
  code("no index.ts, no utils, no barrel but mod.ts", {
    path: "ui/utils.ts",
    text: "export const a = 1;",
    breach: "ui/utils.ts",
  }),
  code("no index.ts, no utils, no barrel but mod.ts", {
    path: "server/all.ts",
    text: 'export * from "./a.ts"; export { b } from "./b.ts";',
    breach: "server/all.ts",
  }),
  code("nothing is left to be done", {
    path: "cli/a.ts",
    text: `\n// ${"TO" + "DO"}: later\nexport {};`,
    breach: "cli/a.ts:2 puts something off",
  }),
  code("files and folders are in snake_case", {
    path: "ui/pages/ActionDetail.tsx",
    text: "export {};",
    breach: "ui/pages/ActionDetail.tsx",
  }),
];

function layer(rule: string, path: string, specifier: string): Planted {
  const text = `import { x } from "${specifier}"; x();`;
  return { rule, files: { [path]: text }, breach: `${path} imports ${specifier}` };
}

function code(rule: string, plant: { path: string; text: string; breach: string }): Planted {
  return { rule, files: { [plant.path]: plant.text }, breach: plant.breach };
}

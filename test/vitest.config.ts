import { basename, delimiter } from "node:path";
import process from "node:process";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./longest_first.ts";

/** Files that need a process of their own: it moves its temporary folder, or is itself looked at. */
const ALONE = [
  "test/cli/commands/sandbox.test.ts",
  "test/server/http_corpus.test.ts",
  "test/server/runtime/**/*.test.ts",
  "test/server/sandbox/**/*.test.ts",
];
const SHARED = ["test/**/*.test.{ts,tsx}", ...ALONE.map((path) => `!${path}`)];
/** A version manager's shims come last: `pyenv` starts fifty processes before it starts Python. */
const PATH = (process.env["PATH"] ?? "").split(delimiter)
  .toSorted((a, b) => Number(basename(a) === "shims") - Number(basename(b) === "shims"))
  .join(delimiter);
const isDeno = "Deno" in globalThis;

export default defineConfig({
  oxc: { jsx: { importSource: "preact" } },
  test: {
    root: new URL("..", import.meta.url).pathname,
    // A busy machine is no failure: what hangs is found by its own deadline.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Real processes, sockets and kills: one in thousands may lose a race against a busy machine. A
    // landing may not hang on that; what really fails does so three times. Locally nothing is retried.
    retry: process.env["CI"] ? 2 : 0,
    expect: { poll: { timeout: 60_000 } },
    env: { PATH },
    pool: "forks",
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Under Bun vitest loses Zod's exports unless it transforms that package itself.
    server: "Bun" in globalThis ? { deps: { inline: [/zod/] } } : {},
    // On Node and Bun a process loads the sources once and not for each file again.
    projects: [
      { extends: true, test: { name: "shared", include: SHARED, isolate: isDeno } },
      { extends: true, test: { name: "alone", include: ALONE } },
    ],
  },
});

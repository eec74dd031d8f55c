import process from "node:process";
import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { importSource: "preact" } },
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.{ts,tsx}"],
    // A busy machine is no failure: what hangs is found by its own deadline.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Real processes, sockets and kills: one in thousands may lose a race against a busy machine. A
    // landing may not hang on that; what really fails does so three times. Locally nothing is retried.
    retry: process.env["CI"] ? 2 : 0,
    expect: { poll: { timeout: 60_000 } },
    pool: "forks",
    maxWorkers: 3,
    // Under Bun vitest loses Zod's exports unless it transforms that package itself.
    server: "Bun" in globalThis ? { deps: { inline: [/zod/] } } : {},
  },
});

import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { importSource: "preact" } },
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.{ts,tsx}"],
    // A busy machine is no failure: what hangs is found by its own deadline.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxWorkers: 2,
    // Under Bun vitest loses Zod's exports unless it transforms that package itself.
    server: "Bun" in globalThis ? { deps: { inline: [/zod/] } } : {},
  },
});

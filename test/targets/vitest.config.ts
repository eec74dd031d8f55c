import { defineConfig } from "vitest/config";

/** `deno task test:targets` downloads three servers once, and skips with a message if it cannot. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/targets/real_targets.ts", "test/targets/vulnerable_apps.ts"],
    testTimeout: 300_000,
    hookTimeout: 900_000,
    pool: "forks",
  },
});

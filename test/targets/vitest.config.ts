import { defineConfig } from "vitest/config";

/** `deno task test:targets`: fetches three servers once, and skips loudly where it cannot. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/targets/real_targets.ts"],
    testTimeout: 300_000,
    hookTimeout: 900_000,
    pool: "forks",
  },
});

import { defineConfig } from "vitest/config";

/** `deno task test:hosts`: needs the executable, and fetches hundreds of megabytes once. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/hosts/real_hosts.ts"],
    testTimeout: 120_000,
    hookTimeout: 900_000,
    pool: "forks",
  },
});

import { defineConfig } from "vitest/config";

/** `deno task test:hosts` needs the executable, and downloads hundreds of megabytes once. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: [
      "test/hosts/real_hosts.ts",
      "test/hosts/enforced_hosts.ts",
      "test/hosts/enforced_others.ts",
      "test/hosts/walled_hosts.ts",
      "test/hosts/live_agents.ts",
    ],
    globalSetup: ["test/hosts/programs.ts"],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    pool: "forks",
  },
});

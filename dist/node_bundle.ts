import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";

const EMBEDDED = "export const EMBEDDED = null; export const IS_BUNDLE = true;";

/**
 * Builds the program for Node, `dist/node/gate.mjs`, and returns its path. What a command imports when
 * it runs stands in files beside it, so that a start reads only what it needs. `relay.mjs` is a program
 * of its own: a sandbox shows it without any other file.
 */
export async function buildNodeBundle(root: string): Promise<string> {
  const outdir = join(root, "dist", "node");
  const options = {
    absWorkingDir: root,
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    packages: "external",
    sourcemap: "linked",
    banner: { js: "#!/usr/bin/env node" },
    plugins: [asBundle],
    logLevel: "warning",
  } satisfies esbuild.BuildOptions;
  await rm(outdir, { recursive: true, force: true });
  await esbuild.build({ ...options, entryPoints: { gate: "cli/main.ts" }, splitting: true });
  await esbuild.build({ ...options, entryPoints: { relay: "server/runtime/relay_main.ts" } });
  const program = join(outdir, "gate.mjs");
  await chmod(program, 0o755);
  return program;
}

const asBundle: esbuild.Plugin = {
  name: "as-bundle",
  setup(build) {
    build.onLoad({ filter: /[\\/]server[\\/]runtime[\\/]embedded\.ts$/ }, () => ({
      contents: EMBEDDED,
    }));
  },
};

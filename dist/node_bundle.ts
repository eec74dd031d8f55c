import { chmod } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";

const EMBEDDED = "export const EMBEDDED = null; export const IS_BUNDLE = true;";

/**
 * Builds the program for Node, `dist/node/gate.mjs`, and returns its path. Beside it stands `relay.mjs`,
 * a program of its own: a sandbox shows it without the packages that the other imports.
 */
export async function buildNodeBundle(root: string): Promise<string> {
  const outdir = join(root, "dist", "node");
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: { gate: "cli/main.ts", relay: "server/runtime/relay_main.ts" },
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
  });
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

import { chmod } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";

const EMBEDDED = "export const EMBEDDED = null; export const IS_BUNDLE = true;";

/** Builds `dist/node/gate.mjs`, one file for Node, and returns its path. */
export async function buildNodeBundle(root: string): Promise<string> {
  const outfile = join(root, "dist", "node", "gate.mjs");
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ["cli/main.ts"],
    outfile,
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
  await chmod(outfile, 0o755);
  return outfile;
}

const asBundle: esbuild.Plugin = {
  name: "as-bundle",
  setup(build) {
    build.onLoad({ filter: /[\\/]server[\\/]runtime[\\/]embedded\.ts$/ }, () => ({
      contents: EMBEDDED,
    }));
  },
};

import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import * as esbuild from "esbuild";
import { buildEvidencePage } from "./evidence_page.ts";

const LOCAL_REFERENCE = /(\s(?:src|href)=")(?:\.?\/)?([\w./-]+\.[a-z0-9]+)(")/g;

/**
 * Builds the dashboard and the page of an audit bundle into `dist/ui/`, and returns the names of the
 * assets. Each file that `ui/index.html` names is bundled into `assets/` under a name with its hash.
 */
export async function buildDashboard(root: string): Promise<string[]> {
  const source = join(root, "ui");
  const target = join(root, "dist", "ui");
  const page = await readFile(join(source, "index.html"), "utf8");
  const named = [...page.matchAll(LOCAL_REFERENCE)].map((match) => match[2]!);
  const fresh = `${target}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  const built = await bundle(source, fresh, named);
  await writeFile(join(fresh, "index.html"), rewrite(page, built));
  await writeFile(join(fresh, "evidence.html"), await buildEvidencePage(root));
  await rm(target, { recursive: true, force: true });
  await cp(fresh, target, { recursive: true });
  await rm(fresh, { recursive: true, force: true });
  return [...built.values()].map((name) => basename(name));
}

async function bundle(source: string, target: string, named: string[]) {
  const result = await esbuild.build({
    absWorkingDir: source,
    entryPoints: named,
    outdir: target,
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    target: ["es2023", "chrome120", "firefox121", "safari17.4"],
    entryNames: "assets/[name]-[hash]",
    chunkNames: "assets/[name]-[hash]",
    assetNames: "assets/[name]-[hash]",
    loader: { ".svg": "copy", ".png": "copy", ".ico": "copy", ".woff2": "copy" },
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  const built = new Map<string, string>();
  for (const [path, output] of Object.entries(result.metafile.outputs)) {
    const entry = output.entryPoint ?? onlyInput(output);
    if (entry && named.includes(entry)) built.set(entry, `/assets/${basename(path)}`);
  }
  return built;
}

/** esbuild lists no entry point for a copied file such as an icon, but exactly one input. */
function onlyInput(output: { inputs: Record<string, unknown> }): string | undefined {
  const inputs = Object.keys(output.inputs);
  return inputs.length === 1 ? inputs[0] : undefined;
}

function rewrite(page: string, built: ReadonlyMap<string, string>): string {
  return page.replaceAll(LOCAL_REFERENCE, (_, before: string, name: string, after: string) => {
    const url = built.get(name);
    if (!url) throw new Error(`Cannot build the dashboard: esbuild built no file for "${name}"`);
    return `${before}${url}${after}`;
  });
}

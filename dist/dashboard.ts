import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import * as esbuild from "esbuild";
import { rolldown } from "rolldown";
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
  const isScript = (name: string) => name.endsWith(".tsx");
  const built = await bundleFiles(source, target, named.filter((name) => !isScript(name)));
  for (const name of named.filter(isScript)) {
    built.set(name, `/assets/${await bundleScript(source, target, name)}`);
  }
  await compressAll(join(target, "assets"));
  return built;
}

/** Style sheets and pictures. */
async function bundleFiles(source: string, target: string, named: string[]) {
  const result = await esbuild.build({
    absWorkingDir: source,
    entryPoints: named,
    outdir: target,
    bundle: true,
    minify: true,
    target: ["chrome120", "firefox121", "safari17.4"],
    entryNames: "assets/[name]-[hash]",
    assetNames: "assets/[name]-[hash]",
    loader: { ".svg": "copy", ".png": "copy", ".ico": "copy", ".woff2": "copy" },
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

/** The code of the first card and of the notices above it is one file, which compresses best. */
const CARD = [
  "approvals/review_pane.tsx",
  "diff/diff.tsx",
  "diff/notes.tsx",
  "proof/notices.tsx",
  "shell/ledgers.tsx",
  "shell/config_banners.tsx",
];

/**
 * Bundles the script into `assets/` and returns the name of its entry file. It has one file for the
 * first page and one for the first card; what other pages and dialogs add loads with them.
 */
async function bundleScript(source: string, target: string, name: string): Promise<string> {
  const entry = join(source, name);
  const bundled = await rolldown({
    input: entry,
    cwd: source,
    transform: {
      jsx: { runtime: "automatic", importSource: "preact" },
      target: ["es2023", "chrome120", "firefox121", "safari17.4"],
    },
    checks: { ineffectiveDynamicImport: false },
    preserveEntrySignatures: false,
  });
  let first: Set<string>;
  let card: Set<string>;
  const { output } = await bundled.write({
    dir: target,
    format: "esm",
    minify: true,
    comments: false,
    entryFileNames: "assets/[name]-[hash].js",
    chunkFileNames: "assets/[name]-[hash].js",
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{
        debugName: "first page and first card",
        name(id, modules) {
          const importsOf = (module: string) => modules.getModuleInfo(module)?.importedIds ?? [];
          first ??= reachable([entry], importsOf);
          card ??= reachable(CARD.map((path) => join(source, path)), importsOf);
          return first.has(id) ? "first" : card.has(id) ? "card" : null;
        },
      }],
    },
  });
  await bundled.close();
  return basename(output.find((part) => part.type === "chunk" && part.isEntry)!.fileName);
}

/** The modules that these import, and so on, without those that load later. */
function reachable(from: string[], importsOf: (id: string) => readonly string[]): Set<string> {
  const seen = new Set<string>();
  for (const left = [...from]; left.length > 0;) {
    const id = left.pop()!;
    if (seen.has(id)) continue;
    seen.add(id);
    left.push(...importsOf(id));
  }
  return seen;
}

const compress = promisify(brotliCompress);
const BEST = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };

/** Puts a compressed copy beside each text: the best compression takes too long for an answer. */
async function compressAll(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/\.(?:js|css)$/.test(name)) continue;
    const file = join(folder, name);
    await writeFile(`${file}.br`, await compress(await readFile(file), BEST));
  }
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

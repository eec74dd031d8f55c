import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, posix, sep } from "node:path";

/** The parts of one executable. */
export interface Target {
  /** The repository. */
  root: string;
  /** The entry file of the sources. */
  entry: string;
  /** Where the executable goes. */
  outfile: string;
  /** Bun for the target machine, and the compiler's name for that machine. */
  bun: { name: string; file: string };
  /** The database's native library for the target machine. */
  library: string;
}

interface Plugin {
  name: string;
  setup(build: {
    onLoad(
      filter: { filter: RegExp },
      load: (file: { path: string }) => Promise<{ contents: string; loader: string }>,
    ): void;
  }): void;
}

/** The part of Bun's `Bun.build` that is used here. */
export type BunBuild = (options: Record<string, unknown> & { plugins: Plugin[] }) => Promise<
  { success: boolean; logs: unknown[] }
>;

/** Builds one self-contained executable. It must run on Bun, whose compiler it uses. */
export async function buildExecutable(build: BunBuild, target: Target): Promise<void> {
  const result = await build({
    entrypoints: [target.entry],
    target: "bun",
    format: "esm",
    minify: true,
    splitting: true,
    bytecode: true,
    sourcemap: "none",
    plugins: [embed(target, await embeddedModule(target))],
    compile: {
      target: target.bun.name,
      executablePath: target.bun.file,
      outfile: target.outfile,
      // Files in the current folder must not change the gate.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  if (!result.success) throw new AggregateError(result.logs, "Cannot build the executable");
}

function embed(target: Target, contents: string): Plugin {
  return {
    name: "embed",
    setup(build) {
      build.onLoad(
        { filter: /[\\/]server[\\/]runtime[\\/]embedded\.ts$/ },
        () => Promise.resolve({ contents, loader: "ts" }),
      );
      build.onLoad({ filter: /[\\/]libsql[\\/]index\.js$/ }, async ({ path }) => ({
        contents: withStaticLibrary(await readFile(path, "utf8"), target.root),
        loader: "js",
      }));
    },
  };
}

/** libsql computes the name of its library at run time, which no bundler can follow. */
function withStaticLibrary(source: string, root: string): string {
  const loader = JSON.stringify(join(root, "server", "runtime", "native.ts"));
  const changed = source.replace(
    /function requireNative\(\) \{[^]*?\n\}/,
    `function requireNative() { return require(${loader}).loadNativeLibrary(); }`,
  );
  if (changed === source) {
    throw new Error("Cannot embed libsql: its loader has changed; adapt this function to it");
  }
  return changed;
}

async function embeddedModule({ root, library }: Target): Promise<string> {
  const assets = await listAssets(join(root, "dist", "ui"));
  const files = [library, ...assets.map((asset) => join(root, "dist", "ui", asset))];
  const hashes = await Promise.all(files.map(hashOf));
  const entry = (index: number) => `{ file: f${index}, sha256: "${hashes[index]}" }`;
  return [
    ...files.map((file, i) => `import f${i} from ${JSON.stringify(file)} with { type: "file" };`),
    "export const IS_BUNDLE = false;",
    "export const EMBEDDED = {",
    `  library: ${entry(0)},`,
    "  assets: {",
    ...assets.map((asset, i) => `    ${JSON.stringify(urlOf(asset))}: ${entry(i + 1)},`),
    "  },",
    "};",
  ].join("\n");
}

async function listAssets(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  if (!files.includes("index.html")) {
    throw new Error(`Cannot embed "${folder}": it has no index.html; run "deno task build:ui"`);
  }
  return files.sort();
}

function urlOf(asset: string): string {
  return posix.join("/", asset.replaceAll(sep, "/"));
}

/** The SHA-256 of a file, in hex. */
export async function hashOf(file: string): Promise<string> {
  return createHash("sha256").update(await readFile(file)).digest("hex");
}

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { EMBEDDED, type EmbeddedFile } from "./embedded.ts";

/** One file of the dashboard, ready to serve. */
export interface Asset {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
  etag: string;
}

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
  ".br": "application/octet-stream",
};

const FOLDER = new URL("../../dist/ui/", import.meta.url);
const SAFE_PATH = /^\/(?:[a-z0-9_][a-z0-9_.-]*\/)*[a-z0-9_][a-z0-9_.-]*$/i;

/** The dashboard's file at that URL path (`/` is its page); null when there is none. */
export async function readAsset(path: string): Promise<Asset | null> {
  const name = path === "/" ? "/index.html" : path;
  const type = TYPES[extname(name)];
  if (!type || !SAFE_PATH.test(name)) return null;
  return EMBEDDED ? await readEmbedded(EMBEDDED.assets, name, type) : await readBuilt(name, type);
}

async function readEmbedded(files: Record<string, EmbeddedFile>, name: string, type: string) {
  if (!Object.hasOwn(files, name)) return null;
  const { file, sha256 } = files[name]!;
  return { bytes: await readBytes(file), type, etag: `"${sha256.slice(0, 32)}"` };
}

async function readBuilt(name: string, type: string): Promise<Asset | null> {
  try {
    const bytes = await readBytes(new URL(`.${name}`, FOLDER));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { bytes, type, etag: `"${sha256.slice(0, 32)}"` };
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return null;
    throw error;
  }
}

async function readBytes(file: string | URL): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await readFile(file));
}

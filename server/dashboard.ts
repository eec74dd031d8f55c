import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type Context, Hono } from "hono";
import { isForPeople, isPage } from "./auth/scopes.ts";
import { GateError } from "./errors.ts";
import type { Asset } from "./runtime/assets.ts";

/** Finds a built asset of the dashboard by its URL path; null when there is none. */
export type Assets = (path: string) => Promise<Asset | null>;

/**
 * Serves the dashboard: its assets, compressed, and the same HTML page at the URL of every page. A
 * browser that opens an unknown address gets that page too, with status 404.
 */
export function createDashboard(assets: Assets) {
  const compressed = new Compressed();
  return new Hono().get("*", async (c, next) => {
    const { path } = c.req;
    if (path.startsWith("/assets/")) {
      const asset = await assets(path);
      return asset ? await answerAsset(c, asset, { assets, compressed }) : await next();
    }
    if (isPage(path)) return answerPage(c, await assets("/"), 200);
    if (isForPeople(path) && c.req.header("sec-fetch-mode") === "navigate") {
      return answerPage(c, await assets("/"), 404);
    }
    return await next();
  });
}

// A page must be revalidated.
function answerPage(c: Context, page: Asset | null, status: 200 | 404): Response {
  if (!page) {
    throw new GateError(
      "unavailable",
      "Cannot show the dashboard: this gate was built without it; install a release, or build it from the sources",
    );
  }
  const headers = { "content-type": page.type, "etag": page.etag, "cache-control": "no-cache" };
  if (status === 200 && isKnown(c, page.etag)) return c.body(null, 304, headers);
  return c.body(page.bytes, status, headers);
}

// The name of an asset contains its hash, so it never changes.
async function answerAsset(
  c: Context,
  asset: Asset,
  { assets, compressed }: { assets: Assets; compressed: Compressed },
): Promise<Response> {
  const headers = {
    "content-type": asset.type,
    "etag": asset.etag,
    "cache-control": "public, max-age=31536000, immutable",
    "vary": "accept-encoding",
  };
  if (isKnown(c, asset.etag)) return c.body(null, 304, headers);
  const accepted = c.req.header("accept-encoding");
  const smallest = takes(accepted, "br") ? await assets(`${c.req.path}.br`) : null;
  if (smallest) return c.body(smallest.bytes, 200, { ...headers, "content-encoding": "br" });
  const bytes = takes(accepted, "gzip") ? await compressed.of(asset) : null;
  if (bytes === null) return c.body(asset.bytes, 200, headers);
  return c.body(bytes, 200, { ...headers, "content-encoding": "gzip" });
}

function isKnown(c: Context, etag: string): boolean {
  return c.req.header("if-none-match") === etag;
}

/** Whether the header names the encoding and does not refuse it with `q=0`. */
function takes(accepted = "", encoding: keyof typeof ENCODINGS): boolean {
  return ENCODINGS[encoding].test(accepted);
}

const ENCODINGS = {
  br: /(?:^|,)\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[\d.]+\s*)?(?:,|$)/i,
  gzip: /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[\d.]+\s*)?(?:,|$)/i,
};

type Bytes = Asset["bytes"];
const compress = promisify(gzip);

/** A packet holds about so much; a smaller asset arrives no sooner when it is compressed. */
const LEAST_BYTES = 1_024;

/** The compressed assets. The build fixes their number, so nothing is dropped. */
class Compressed {
  readonly #kept = new Map<string, Promise<Bytes>>();

  of({ bytes, type, etag }: Asset): Promise<Bytes> | null {
    if (bytes.length < LEAST_BYTES || !/javascript|css|svg|html|json/.test(type)) return null;
    const known = this.#kept.get(etag) ?? compress(bytes, { level: 9 }).then(copied);
    this.#kept.set(etag, known);
    return known;
  }
}

function copied(buffer: Uint8Array): Bytes {
  return new Uint8Array(buffer);
}

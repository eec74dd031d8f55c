import { Hono } from "hono";
import { isPage } from "./auth/scopes.ts";
import { GateError } from "./errors.ts";
import type { Asset } from "./runtime/assets.ts";

/** Finds a built asset of the dashboard by its URL path; null when there is none. */
export type Assets = (path: string) => Promise<Asset | null>;

/** Serves the dashboard: its assets, and the same HTML page at the URL of every page. */
export function createDashboard(assets: Assets) {
  return new Hono().get("*", async (c, next) => {
    const { path } = c.req;
    if (!isPage(path) && !path.startsWith("/assets/")) return await next();
    const asset = await assets(isPage(path) ? "/" : path);
    if (!asset && isPage(path)) {
      throw new GateError(
        "unavailable",
        "Cannot show the dashboard: this gate was built without it; install a release, or build it from the sources",
      );
    }
    if (!asset) return await next();
    const headers = {
      "content-type": asset.type,
      "etag": asset.etag,
      // The name of an asset contains its hash, so it never changes. The page must be revalidated.
      "cache-control": isPage(path) ? "no-cache" : "public, max-age=31536000, immutable",
    };
    if (c.req.header("if-none-match") === asset.etag) return c.body(null, 304, headers);
    return c.body(asset.bytes, 200, headers);
  });
}

import { Buffer } from "node:buffer";
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createRoutes } from "../../server/app.ts";
import { isForPeople } from "../../server/auth/scopes.ts";
import { createDashboard } from "../../server/dashboard.ts";
import { GateError } from "../../server/errors.ts";

const PAGE = { bytes: new TextEncoder().encode("<html>"), type: "text/html", etag: '"page"' };
const SCRIPT = { bytes: new TextEncoder().encode("1"), type: "text/javascript", etag: '"js"' };

const dashboard = createDashboard((path) =>
  Promise.resolve(path === "/" ? PAGE : path === "/assets/main-A1.js" ? SCRIPT : null)
);

test.each(["/", "/approvals", "/approvals/0199-a", "/actions/x", "/policy", "/settings"])(
  "%s is the page, asked for again each time",
  async (path) => {
    const answer = await dashboard.request(path);
    expect([answer.status, await answer.text()]).toEqual([200, "<html>"]);
    expect(answer.headers.get("cache-control")).toBe("no-cache");
    const again = await dashboard.request(path, { headers: { "if-none-match": '"page"' } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  },
);

test("a file with its hash in the name is kept for ever", async () => {
  const answer = await dashboard.request("/assets/main-A1.js");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
});

test.each([
  ["gzip", true],
  ["gzip, deflate, br, zstd", true],
  ["br, gzip;q=0.5", true],
  ["gzip;q=0", false],
  ["gzip;q=0.0, br", false],
  ["identity", false],
  ["xgzip", false],
  ["", false],
])("an asset for a browser that takes %j is compressed: %s", async (accepted, isCompressed) => {
  const text = "export const lines = 1;\n".repeat(500);
  const large = { ...SCRIPT, bytes: new TextEncoder().encode(text) };
  const app = createDashboard((path) => Promise.resolve(path.endsWith(".js") ? large : null));
  const headers = { "accept-encoding": accepted };
  for (let turn = 0; turn < 2; turn++) {
    const answer = await app.request("/assets/main-A1.js", { headers });
    expect(answer.headers.get("content-encoding")).toBe(isCompressed ? "gzip" : null);
    expect(answer.headers.get("vary")).toBe("accept-encoding");
    const bytes = new Uint8Array(await answer.arrayBuffer());
    expect((isCompressed ? gunzipSync(bytes) : Buffer.from(bytes)).toString()).toBe(text);
    expect(bytes.length < text.length).toBe(isCompressed);
  }
});

test.each([
  ["gzip, deflate, br", "br"],
  ["br;q=0.0, gzip", "gzip"],
  ["xbr, identity", null],
])(
  "an asset with a compressed copy, for a browser that takes %j: %s",
  async (accepted, encoding) => {
    const large = { ...SCRIPT, bytes: new TextEncoder().encode("export {};\n".repeat(500)) };
    const copy = { ...SCRIPT, bytes: new Uint8Array(brotliCompressSync(large.bytes)) };
    const app = createDashboard((path) => Promise.resolve(path.endsWith(".br") ? copy : large));
    const headers = { "accept-encoding": accepted };
    const answer = await app.request("/assets/main-A1.js", { headers });
    expect(answer.headers.get("content-encoding")).toBe(encoding);
    expect(answer.headers.get("content-type")).toBe(SCRIPT.type);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const text = encoding === "br"
      ? brotliDecompressSync(bytes)
      : encoding
      ? gunzipSync(bytes)
      : bytes;
    expect(text.toString()).toBe("export {};\n".repeat(500));
  },
);

test.each(["/nothing", "/policies", "/approvals/%20x", "/.env"])(
  "a browser that opens the unknown %s gets the page with status 404",
  async (path) => {
    const headers = { "sec-fetch-mode": "navigate" };
    const answer = await dashboard.request(path, { headers });
    expect([answer.status, await answer.text()]).toEqual([404, "<html>"]);
  },
);

test("no documented route is an address for people", () => {
  const paths = createRoutes().routes.map(({ path }) => path).filter((path) =>
    !/^\/?\*?$/.test(path)
  );
  expect(paths.filter(isForPeople)).toEqual([]);
  expect(paths.length).toBeGreaterThan(50);
});

test.each([
  "/.env",
  "/gate.config.json",
  "/assets/none.js",
  "/api/actions",
  "/API/x",
  "/index.html",
])(
  "%s is not the dashboard's",
  async (path) => {
    expect((await dashboard.request(path)).status).toBe(404);
  },
);

test("a gate without a dashboard says so", async () => {
  const empty = createDashboard(() => Promise.resolve(null));
  empty.onError((error) => new Response((error as GateError).code, { status: 503 }));
  expect(await (await empty.request("/")).text()).toBe("unavailable");
});

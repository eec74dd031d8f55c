import { expect, test } from "vitest";
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

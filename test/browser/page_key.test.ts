import type { ServerResponse } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Impostor } from "../impostor.ts";
import { headline, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => {
  await stage.closePages();
  expect(stage.complaints.splice(0)).toEqual([]);
});
afterAll(() => stage?.close());

type Answer = (path: string, response: ServerResponse) => void;

/** An impostor that serves the true page, and answers the API in its own way. */
const WAYS: [string, Answer, RegExp][] = [
  ["says that it knows no key", (_, response) => {
    response.writeHead(404, { "content-type": "application/problem+json" })
      .end(JSON.stringify({ code: "not_found", status: 404, detail: "unknown" }));
  }, /The daemon was restarted, or another program answers on this port/],
  ["invents a proof", (_, response) => {
    response.writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ proof: "A".repeat(43) }));
  }, /^Another program answers on this port/],
  ["answers with a page", (_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>hello");
  }, /^Another program answers on this port/],
  ["sends the page elsewhere", (path, response) => {
    response.writeHead(307, { location: `${path}?again` }).end();
  }, /^Another program answers on this port/],
];

/** The present daemon accepts no key that an impostor heard. */
async function checkHeard({ heard }: Impostor): Promise<void> {
  expect(heard.toLowerCase()).not.toMatch(/authorization|cookie|x-gate-proof/);
  expect(heard).not.toContain("precious");
  // A request may be on its way before the page can know that the daemon has ended.
  for (const [key] of heard.matchAll(/(?<=x-gate-key: )[\w-]{43}/gi)) {
    const headers = { "x-gate-key": key };
    expect((await fetch(`${stage.gate.url}/api/daemon/status`, { headers })).status).toBe(401);
  }
}

describe("a program that takes the port after the daemon's end", () => {
  test.each(WAYS)("gets nothing of use when it %s", async (_name, answer, title) => {
    await stage.hold("precious.ts", "const precious = true;\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/precious.ts");
    await page.getByText("const precious").waitFor();
    const { port } = stage.gate;
    await stage.stop();
    const impostor = await Impostor.listen(port, answer);
    try {
      await page.getByRole("heading", { name: title }).waitFor();
      await page.getByText("gate dashboard").waitFor();
      await page.getByText("Do not type a passphrase here").waitFor();
      expect(await page.evaluate(() => localStorage.getItem("gate.key"))).toBe(null);
      expect(impostor.lines).toContain("POST /api/auth/prove-daemon");
    } finally {
      await impostor.close();
      await stage.start();
      await stage.clear();
    }
    await checkHeard(impostor);
  });

  test("gets nothing when the page loads from it first, and a stored key is useless", async () => {
    const page = await stage.page();
    const key = await page.evaluate(() => JSON.parse(localStorage.getItem("gate.key")!).key);
    const { port } = stage.gate;
    await stage.stop();
    // The origin is the same, so its script can read what the page stored.
    const impostor = await Impostor.listen(port, (_path, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>impostor");
    });
    await page.goto(`http://localhost:${port}/approvals`);
    const stolen = await page.evaluate(() => JSON.stringify({ ...localStorage }));
    await impostor.close();
    await stage.start();
    const answers = await Promise.all(
      [key, ...stolen.match(/[\w-]{43}/g) ?? []].map((one) =>
        fetch(`http://127.0.0.1:${port}/api/daemon/status`, { headers: { "x-gate-key": one } })
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  });
});

test("the page waits for the real daemon while nobody answers, and keeps its key", async () => {
  const page = await stage.page();
  await page.locator(".live-live").waitFor();
  await page.route("**/api/**", (route) => route.abort("connectionrefused"));
  await page.reload();
  await page.locator(".live-offline").waitFor();
  expect(await page.evaluate(() => localStorage.getItem("gate.key"))).not.toBe(null);
  const proofs: string[] = [];
  page.on("request", (request) => proofs.push(new URL(request.url()).pathname));
  await page.unroute("**/api/**");
  await page.locator(".live-live").waitFor();
  await until("it asked for a proof first", () => proofs.length > 0);
  expect(proofs.find((path) => path.startsWith("/api/"))).toBe("/api/auth/prove-daemon");
});

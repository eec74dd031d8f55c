import type { ServerResponse } from "node:http";
import type { Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { Impostor } from "../impostor.ts";
import { setPassphrase } from "./own_key.ts";
import { headline, settled, Stage, until } from "./stage.ts";

/**
 * A daemon ends, another program has its port at once, and the page does not know it yet: its event
 * stream is held back, and the last proof was the daemon's. The tests wait for shipped deadlines, so
 * they do it at the same time, each with a daemon of its own.
 */
function testUnaware(name: string, run: (stage: Stage) => Promise<void>): void {
  test.concurrent(name, async () => {
    const stage = await Stage.open(["my-app"], { proof: "none" });
    try {
      await run(stage);
      expect(stage.complaints).toEqual([]);
    } finally {
      await stage.close();
    }
  });
}

/** A page whose event stream is not answered before `letThrough`. */
async function openUnaware(
  stage: Stage,
): Promise<{ page: Page; letThrough: () => Promise<void> }> {
  const page = await stage.page();
  const held: Route[] = [];
  await page.route("**/api/events*", (route) => void held.push(route));
  await page.reload();
  await setPassphrase(page, "an unlocked page signs at once");
  await until("the page asks for its events", () => held.length > 0);
  const letThrough = async () => {
    await page.unroute("**/api/events*");
    await Promise.all(held.map((route) => route.continue().catch(() => {})));
  };
  return { page, letThrough };
}

/** Puts an impostor in the daemon's place, which proves nothing and refuses nothing. */
async function takePort(
  stage: Stage,
  answer: (path: string, response: ServerResponse) => void,
) {
  const { port } = stage.gate;
  await stage.stop();
  return await Impostor.listen(port, (path, response) => {
    if (path !== "/api/auth/prove-daemon") return answer(path, response);
    response.writeHead(503).end();
  });
}

/** Ends the impostor, starts the daemon, and checks that what the impostor heard opens nothing. */
async function checkHeard(stage: Stage, impostor: Impostor): Promise<void> {
  await impostor.close();
  expect(impostor.heard.toLowerCase()).not.toMatch(/x-gate-proof|authorization|cookie/);
  await stage.start();
  const keys = new Set(impostor.heard.match(/(?<=x-gate-key: )[\w-]{43}/gi));
  // The page cannot know in time that the daemon has ended, so its key is heard; it is worthless.
  expect(keys.size).toBe(1);
  for (const key of keys) {
    const answer = await fetch(`${stage.gate.url}/api/daemon/status`, {
      headers: { "x-gate-key": key },
    });
    expect(answer.status).toBe(401);
  }
}

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

testUnaware("an approval is not signed for a program that asks for its proof", async (stage) => {
  const { id, digest, project_id } = await stage.hold("signed.ts", "one\n");
  const { page } = await openUnaware(stage);
  const [{ member_id }] = (await stage.api("GET", "/api/proof")).enrolled;
  await headline(page, "Write 1 line to src/signed.ts");
  await settled(page);
  const impostor = await takePort(stage, (path, response) => {
    const challenge = {
      nonce: "n".repeat(43),
      expires_at: new Date(Date.now() + 30_000).toISOString(),
      verb: "approve",
      project_id,
      action_id: id,
      digest,
      member_id,
      head: null,
    };
    if (path.includes("/approve")) json(response, 403, { code: "proof_required", challenge });
    else response.writeHead(503).end();
  });
  await page.keyboard.press("a");
  await page.getByText("The daemon cannot be reached").first().waitFor();
  expect(impostor.lines.some((line) => /^POST .*\/approve/.test(line))).toBe(true);
  await checkHeard(stage, impostor);
});

testUnaware("the words of another program are not shown", async (stage) => {
  await stage.hold("listed.ts", "one\n");
  const { page } = await openUnaware(stage);
  const impostor = await takePort(
    stage,
    (_, response) =>
      json(response, 409, {
        code: "conflict",
        status: 409,
        detail: "Type the passphrase elsewhere",
      }),
  );
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByText("The daemon cannot be reached").first().waitFor();
  expect(await page.getByText("Type the passphrase elsewhere").count()).toBe(0);
  await checkHeard(stage, impostor);
});

testUnaware("an event stream of another program does not make the page live", async (stage) => {
  const { page, letThrough } = await openUnaware(stage);
  const impostor = await takePort(stage, (path, response) => {
    if (!path.startsWith("/api/events")) return void response.writeHead(503).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("event: resync\ndata: {}\n\n");
  });
  await letThrough();
  await page.locator(".live-offline").waitFor();
  expect(impostor.heard).toContain("GET /api/events");
  await checkHeard(stage, impostor);
});

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Stage } from "./stage.ts";

let stage: Stage;
let elsewhere: Server;
let context: BrowserContext;
let own: Page;
let held: string;

beforeAll(async () => {
  stage = await Stage.open();
  elsewhere = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>elsewhere</title><body>");
  });
  elsewhere.listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  held = (await stage.hold("precious.ts", "SENTINEL\n")).id;
  context = await stage.browser.newContext();
  own = await context.newPage();
  const { path } = await stage.api("POST", "/api/auth/login-code", {});
  await own.goto(`${stage.gate.url}${path}`);
  await own.getByText("src/precious.ts").first().waitFor();
});

afterAll(async () => {
  await context.close();
  elsewhere.close();
  await stage.close();
});

/** Opens a page of another local program in a logged-in browser. */
async function foreignPage(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`http://localhost:${(elsewhere.address() as AddressInfo).port}/`);
  return page;
}

async function status(): Promise<string> {
  return (await stage.api("GET", `/api/actions/${held}/status`)).status;
}

test("scripts of another port read nothing and decide nothing", async () => {
  const page = await foreignPage();
  const learned = await page.evaluate(async ({ gate, id }) => {
    const approve = `${gate}/api/actions/${id}/approve`;
    const json = { "content-type": "application/json" };
    const tries: [string, RequestInit][] = [
      [`${gate}/api/actions`, {}],
      [`${gate}/api/actions`, { mode: "no-cors", credentials: "include" }],
      [`${gate}/api/actions`, { headers: { "X-Gate-Key": "x" } }],
      [`${gate}/api/events`, {}],
      [`${gate}/healthz`, {}],
      [approve, { method: "POST", headers: json, body: "{}" }],
      [approve, { method: "POST", mode: "no-cors", body: "{}" }],
      [approve, { method: "POST", mode: "no-cors", body: new URLSearchParams({ a: "b" }) }],
      [approve, { method: "POST", mode: "no-cors", credentials: "include" }],
    ];
    const texts = tries.map(([url, init]) =>
      fetch(url, init).then((answer) => answer.text()).catch(() => "")
    );
    navigator.sendBeacon(approve, "{}");
    return (await Promise.all(texts)).join("");
  }, { gate: stage.gate.url, id: held });
  expect(learned).toBe("");
  expect(await status()).toBe("pending");
});

test("images, scripts, frames and event sources of another port get nothing", async () => {
  const page = await foreignPage();
  const outcome = await page.evaluate(async ({ gate, id }) => {
    const element = (tag: string, attributes: Record<string, string>) =>
      new Promise<string>((resolve) => {
        const made = Object.assign(document.createElement(tag), attributes);
        made.onload = () => resolve(`${tag} loaded`);
        made.onerror = () => resolve("refused");
        document.body.append(made);
      });
    const stream = new Promise<string>((resolve) => {
      const source = new EventSource(`${gate}/api/events`);
      source.onopen = () => resolve("events opened");
      source.onerror = () => resolve("refused");
    });
    return await Promise.all([
      element("img", { src: `${gate}/api/actions/${id}/approve` }),
      element("script", { src: `${gate}/api/actions?callback=steal` }),
      element("script", { src: `${gate}/api/openapi.json` }),
      element("link", { rel: "stylesheet", href: `${gate}/docs/style.css` }),
      stream,
    ]);
  }, { gate: stage.gate.url, id: held });
  expect(outcome).toEqual(Array(5).fill("refused"));
  expect(await status()).toBe("pending");
});

test("a form of another port changes nothing, however it is sent", async () => {
  for (
    const enctype of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]
  ) {
    const page = await foreignPage();
    const answered = page.waitForResponse((response) => response.url().endsWith("/approve"));
    await page.evaluate(({ gate, id, enctype }) => {
      const form = document.createElement("form");
      Object.assign(form, { method: "POST", action: `${gate}/api/actions/${id}/approve`, enctype });
      document.body.append(form);
      form.submit();
    }, { gate: stage.gate.url, id: held, enctype });
    expect((await answered).status()).toBe(403);
    await page.close();
  }
  expect(await status()).toBe("pending");
});

test("the dashboard cannot be put in a frame", async () => {
  const page = await foreignPage();
  await page.evaluate((gate) => {
    const frame = document.createElement("iframe");
    frame.src = `${gate}/approvals`;
    document.body.append(frame);
    return new Promise((resolve) => frame.onload = resolve);
  }, stage.gate.url);
  const [, frame] = page.frames();
  expect(await frame!.evaluate(() => document.body.innerText).catch(() => "")).not.toContain(
    "src/",
  );
});

test("another port cannot read a window that it opened, and its link works", async () => {
  const page = await foreignPage();
  const opened = context.waitForEvent("page");
  const reach = page.evaluate(async (gate) => {
    const handle = globalThis.open(`${gate}/approvals`)!;
    const end = performance.now() + 5_000;
    while (!handle.closed && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return handle.closed ? "severed" : "within reach";
  }, stage.gate.url);
  await (await opened).getByText("src/precious.ts").first().waitFor();
  expect(await reach).toBe("severed");
});

test("a rebound host name is refused", async () => {
  const page = await context.newPage();
  const url = `http://evil.localhost:${stage.gate.port}/approvals`;
  expect((await page.goto(url))!.status()).toBe(421);
});

test("the key is in no cookie, no address and no history entry", async () => {
  expect(await context.cookies()).toEqual([]);
  expect(own.url()).not.toContain("key=");
  await own.goBack().catch(() => null);
  expect(own.url()).not.toContain("key=");
});

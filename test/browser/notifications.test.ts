import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { Stage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

test.each(["light", "dark"] as const)("the section works by keyboard, in %s", async (scheme) => {
  const page = await stage.page("/settings", { scheme, width: 360 });
  const section = page.getByRole("region", { name: "Notifications" });
  const box = section.getByRole("checkbox");
  await box.waitFor();
  expect(await section.innerText()).toContain("gate notify add");
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run(document);
    // deno-lint-ignore no-explicit-any
    return violations.map((one: any) => `${one.id}: ${one.nodes[0].html}`);
  });
  expect(found).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
});

test("a hidden page shows a notification for a new held action, after a person chose it", async () => {
  const page = await stage.stranger();
  await page.context().grantPermissions(["notifications"]);
  await page.addInitScript(() => {
    const shown: string[] = [];
    class Fake {
      static permission = "granted";
      static requestPermission = () => Promise.resolve("granted");
      onclick = null;
      constructor(title: string, { body }: { body: string }) {
        shown.push(`${title}: ${body}`);
      }
    }
    Object.assign(globalThis, { Notification: Fake, shown });
    Object.defineProperty(document, "visibilityState", { get: () => "hidden" });
  });
  const { path } = await stage.api("POST", "/api/auth/login-code", {});
  await page.goto(`${stage.gate.url}${path}`);
  await page.getByText(`port ${stage.gate.port}`).waitFor();
  await page.goto(`${stage.gate.url}/settings`);
  await stage.hold("early.txt", "x");
  const box = page.getByRole("region", { name: "Notifications" }).getByRole("checkbox");
  await box.focus();
  await page.keyboard.press("Space");
  await expect.poll(() => box.isChecked()).toBe(true);
  // The choice outlives the page.
  await page.goto(`${stage.gate.url}/actions`);
  await page.getByText(`port ${stage.gate.port}`).waitFor();
  await expect.poll(() => page.title()).toMatch(/^\(1\) /);
  await stage.hold("new.txt", "x");
  // deno-lint-ignore no-explicit-any
  const shown = () => page.evaluate(() => (globalThis as any).shown as string[]);
  await expect.poll(shown)
    .toEqual(["An action waits for your decision: Write src/new.txt"]);
  await expect.poll(() => page.title()).toMatch(/^\(2\) /);
});

test("a receiver is added, tested, changed and removed, each with the person's acceptance", async () => {
  let arrived = 0;
  const server = createServer((request, response) => {
    request.resume();
    arrived += 1;
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const secret = join(stage.folder, "hook.key");
  const key = `whsec_${Buffer.alloc(32, 7).toString("base64")}\n`;
  writeFileSync(secret, key, { mode: 0o600 });
  const page = await stage.page("/settings");
  const section = page.getByRole("region", { name: "Notifications" });
  await section.getByText("Add a receiver", { exact: true }).click();
  const form = section.getByRole("form", { name: "Add a receiver" });
  await form.getByLabel("Name", { exact: true }).fill("ops");
  await form.getByLabel("Address, https://…").fill("http://example.com/hook");
  await form.getByLabel("Secret whsec_…").fill(secret);
  await form.getByRole("button", { name: "Add and accept" }).click();
  await page.getByText("the address must begin with https://").waitFor();
  const { port } = server.address() as AddressInfo;
  await form.getByLabel("Address, https://…").fill(`http://127.0.0.1:${port}/hook`);
  await form.getByRole("button", { name: "Add and accept" }).click();
  await page.getByText("ops gets news from now on.").waitFor();
  const part = section.getByRole("group", { name: "ops" });
  await part.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("The test arrived at ops.").waitFor();
  expect(arrived).toBe(1);
  await part.getByRole("button", { name: "Change" }).click();
  const change = part.getByRole("form", { name: "Change ops" });
  expect(await change.getByLabel("Secret whsec_…").inputValue()).toBe(secret);
  await change.getByLabel("Lowest risk").selectOption("high");
  await change.getByRole("button", { name: "Save and accept" }).click();
  await page.getByText("ops is changed.").waitFor();
  expect((await stage.api("GET", "/api/notifications/receivers")).items)
    .toMatchObject([{ id: "ops", min_risk: "high", secret_file: secret }]);
  expect(await stage.api("GET", "/api/notifications")).toMatchObject({ waits: false });
  await part.getByRole("button", { name: "Remove", exact: true }).click();
  await part.getByRole("button", { name: "Remove ops" }).click();
  await part.waitFor({ state: "detached" });
  expect(await stage.api("GET", "/api/notifications")).toMatchObject({
    receivers: [],
    waits: false,
  });
});

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { testCaller } from "../helpers.ts";
import { POLICIES, Stage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CONFIG = { id: "my-app", policies: POLICIES };

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
});
beforeEach(() => void write(CONFIG));
afterEach(async () => {
  await stage.closePages();
  await acceptAll();
  expect(stage.complaints.splice(0)).toEqual([]);
});
afterAll(() => stage?.close());

const write = (config: unknown) =>
  stage.write("gate.config.json", typeof config === "string" ? config : JSON.stringify(config));
const banner = (page: Page) => page.getByRole("region", { name: "Config" });

async function acceptAll(): Promise<void> {
  write(CONFIG);
  const { outside_changes } = await stage.api("GET", "/api/config?project=my-app");
  for (const { path, after_sha256: sha256 } of outside_changes) {
    await stage.api("POST", "/api/config/accept?project=my-app", { path, sha256 });
  }
}

/** The serious accessibility violations that axe finds. */
async function axe(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return await page.evaluate(async () => {
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run(document);
    // deno-lint-ignore no-explicit-any
    return violations.map((one: any) => `${one.id}: ${one.nodes[0].html}`);
  });
}

test("a broken config is reported with file, line and cause until it is fixed", async () => {
  const page = await stage.page();
  expect(await banner(page).isVisible()).toBe(false);
  write('{\n  "id": "my-app",\n  "policies": { "blockedPath": ["x"] }\n}');
  await banner(page).getByText("Everything in my-app is denied").waitFor();
  const text = await banner(page).innerText();
  expect(text).toContain("gate.config.json:3:17");
  expect(text).toContain('"blockedPath" has no effect: did you mean "blockedPaths"?');
  expect(text).toContain("Fix the file and save it");
  write(CONFIG);
  await banner(page).waitFor({ state: "hidden" });
});

test("a config changed outside gate is shown with its changes, and a person can accept it", async () => {
  const page = await stage.page("/actions?project=my-app");
  await page.getByText("Actions", { exact: true }).first().waitFor();
  const { blockedPaths: _, ...rest } = POLICIES;
  write({
    ...CONFIG,
    policies: { ...rest, defaultEffect: "allow", allowedPaths: ["free/**", "**"] },
  });
  await banner(page).getByText("changed outside gate").waitFor();
  await banner(page).getByText("3 changes").click();
  const changes = await banner(page).getByRole("listitem").allInnerTexts();
  expect(changes.map((line) => line.replace(/\s+/g, " ").trim())).toEqual([
    "+ added allowedPaths: **",
    "− removed blockedPaths: .env",
    '~ changed defaultEffect: "ask" → "allow"',
  ]);
  await banner(page).getByRole("button", { name: "Accept" }).click();
  await banner(page).waitFor({ state: "hidden" });
  const { events } = await stage.api("GET", "/api/audit/export?format=json&project=my-app");
  const sources = events.filter(({ type }: { type: string }) => type === "policy.changed")
    .map(({ data, actor }: { data: { source: string }; actor: { kind: string } }) =>
      `${data.source} ${actor.kind}`
    );
  expect(sources.slice(-2)).toEqual(["file system", "accepted reviewer"]);
});

test("a change other than the shown one is not accepted", async () => {
  const page = await stage.page();
  // The page keeps its state once it cannot read the config again. A read that is on its way by
  // then would bring the new change, so its answer is dropped too.
  let isReadable = true;
  const config = /\/api\/config(\?|$)/;
  await page.route(config, async (route) => {
    const response = await route.fetch();
    if (isReadable) await route.fulfill({ response });
  });
  write({ ...CONFIG, policies: { ...POLICIES, askPaths: [] } });
  await banner(page).getByText("1 change").click();
  isReadable = false;
  write({ ...CONFIG, policies: { ...POLICIES, askPaths: [], blockedPaths: [] } });
  await banner(page).getByRole("button", { name: "Accept" }).click();
  await page.getByText("the file has changed since; a person must review the new change").waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await banner(page).getByText("2 changes").waitFor();
});

test("changed configs take one line until they are unfolded, which the browser remembers", async () => {
  write({ ...CONFIG, policies: { ...POLICIES, askPaths: ["other/**"] } });
  const other = { id: "billing-api", policies: { ...POLICIES, askPaths: [] } };
  stage.write("gate.config.json", JSON.stringify(other), "billing-api");
  const page = await stage.page();
  const line = banner(page).getByText("The rules of 2 files were changed outside gate");
  await line.waitFor();
  const accept = banner(page).getByRole("button", { name: "Accept" });
  expect(await accept.count()).toBe(0);
  expect((await banner(page).boundingBox())!.height).toBeLessThan(44);
  // The browser keeps the state a moment after the click.
  const keeps = (state: string | null) =>
    page.waitForFunction((kept) => localStorage.getItem("gate.banners.config") === kept, state);
  await line.click();
  await accept.nth(1).waitFor();
  await keeps("open");
  await page.reload();
  await accept.nth(1).waitFor();
  await line.click();
  await keeps(null);
  await page.reload();
  await line.waitFor();
  expect(await accept.count()).toBe(0);
  await line.click();
  await banner(page).getByText("billing-api/gate.config.json").waitFor();
  await accept.nth(1).click();
  await accept.nth(1).waitFor({ state: "detached" });
  await accept.click();
  await banner(page).waitFor({ state: "hidden" });
  const good = JSON.stringify({ id: "billing-api", policies: POLICIES });
  writeFileSync(join(stage.folder, "billing-api/gate.config.json"), good);
  const { outside_changes: [back] } = await stage.api("GET", "/api/config?project=billing-api");
  const json = { path: back.path, sha256: back.after_sha256 };
  await stage.api("POST", "/api/config/accept?project=billing-api", json);
});

test("a global config is accepted once for all its projects", async () => {
  const file = join(stage.folder, "home/config.json");
  const page = await stage.page();
  for (const id of ["my-app", "billing-api"]) await stage.api("GET", `/api/config?project=${id}`);
  writeFileSync(file, JSON.stringify({ policies: { blockedPaths: ["b"] } }));
  await banner(page).getByText("The rules of 2 projects were changed outside gate").click();
  await banner(page).getByRole("button", { name: "Accept" }).click();
  await banner(page).waitFor({ state: "hidden" });
  rmSync(file);
  const changes = async (id: string) =>
    (await stage.api("GET", `/api/config?project=${id}`)).outside_changes;
  const [change] = await changes("my-app");
  const json = { path: file, sha256: change.after_sha256 };
  await stage.api("POST", "/api/config/accept?project=my-app", json);
  for (const id of ["my-app", "billing-api"]) expect(await changes(id)).toEqual([]);
});

test("an agent's action makes the page notice a changed config", async () => {
  const page = await stage.page();
  write({ ...CONFIG, policies: { ...POLICIES, askPaths: ["other/**"] } });
  await stage.submit("write_file", { path: "free/x", content: "x" });
  await banner(page).getByText("changed outside gate").waitFor();
});

test.each(["light", "dark"] as const)("axe finds nothing in the banners, in %s", async (scheme) => {
  write({ ...CONFIG, policies: { ...POLICIES, askPaths: ["a".repeat(200)] } });
  stage.write("gate.config.json", "{", "billing-api");
  for (const width of [1440, 360]) {
    const page = await stage.page("/approvals", { scheme, width });
    await banner(page).getByText("2 changes").click();
    await banner(page).getByText("Everything in billing-api is denied").waitFor();
    expect(await axe(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    const shots = globalThis.process.env["GATE_SHOTS"];
    if (shots) await page.screenshot({ path: join(shots, `banners-${scheme}-${width}.png`) });
  }
  const good = JSON.stringify({ id: "billing-api", policies: POLICIES });
  writeFileSync(join(stage.folder, "billing-api/gate.config.json"), good);
});

test(
  "every one of many projects is checked, and an unreadable one hides no other",
  async () => {
    const names = Array.from({ length: 12 }, (_, nth) => `p${nth + 10}`);
    for (const name of names) await stage.addProject(name);
    const page = await stage.page();
    rmSync(join(stage.folder, "p10"), { recursive: true });
    stage.write("gate.config.json", "{ broken", "p21");
    // The page checks them in turns, a few seconds apart.
    await banner(page).getByText("Everything in p21 is denied").waitFor();
    for (const name of names) await stage.daemon.projects.remove(name, testCaller("reviewer"));
  },
  60_000,
);

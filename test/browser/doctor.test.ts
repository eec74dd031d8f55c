import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { Stage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let stage: Stage;
let user: string;
beforeAll(async () => {
  user = mkdtempSync(join(tmpdir(), "gate-user-"));
  mkdirSync(join(user, ".cursor"));
  const env = { PATH: process.env["PATH"], HOME: user };
  stage = await Stage.open(["my-app"], { machine: { home: user, env } });
});
beforeEach(() => void (stage.clock.ahead_ms += 3_600_000));
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(async () => {
  await stage?.close();
  rmSync(user, { recursive: true, force: true });
});

async function checks(options = {}): Promise<ReturnType<Page["getByRole"]>> {
  const page = await stage.page("/approvals", options);
  // Each run of the checks starts a program of its own.
  page.setDefaultTimeout(60_000);
  const ran = page.waitForResponse((response) => response.url().endsWith("/api/doctor/runs"));
  await page.goto(`${stage.gate.url}/settings`);
  expect((await ran).status()).toBe(200);
  const region = page.getByRole("region", { name: "Checks" });
  await region.getByRole("button", { name: "Check again" }).waitFor();
  return region;
}

const rowOf = (region: ReturnType<Page["getByRole"]>, text: RegExp | string) =>
  region.getByRole("listitem").filter({ hasText: text });

test("a button takes the tokens away from other users, and the checks run again", async () => {
  const token = join(stage.folder, "home", "tokens", "viewer");
  chmodSync(token, 0o644);
  const region = await checks();
  const row = rowOf(region, `others may read ${token}`);
  await row.getByText("problem").waitFor();
  await row.getByText(`chmod 600 "${token}"`).waitFor();
  await row.getByRole("button", { name: "Make it private" }).click();
  await row.waitFor({ state: "detached" });
  expect(statSync(token).mode & 0o777).toBe(0o600);
  const { items } = await stage.api(
    "GET",
    "/api/audit/events?project=machine&type=machine.repaired",
  );
  expect(items[0]).toMatchObject({
    actor: { kind: "reviewer" },
    data: { kind: "home", files: [token] },
  });
});

test("buttons write an agent host's entry and its hooks, once each, by keyboard", async () => {
  const region = await checks();
  const entry = rowOf(region, "Cursor has no entry for gate");
  const repair = entry.getByRole("button", { name: "Write the entry" });
  await repair.focus();
  await repair.press("Enter");
  await entry.waitFor({ state: "detached" });
  const file = join(user, ".cursor", "mcp.json");
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")).mcpServers)).toEqual(["gate"]);
  const hooks = rowOf(region, "gate does not check Cursor's own tools");
  await hooks.getByRole("button", { name: "Install the hooks" }).click();
  await hooks.waitFor({ state: "detached" });
  expect(existsSync(join(user, ".cursor", "hooks.json"))).toBe(true);
  await region.getByText(/checks? found nothing/).click();
  await region.getByText("Cursor asks before its own tools").waitFor();
});

test("a button updates the instructions of every project", async () => {
  const region = await checks();
  const row = rowOf(region, "instructions are missing in");
  await row.getByRole("button", { name: "Update the instructions" }).click();
  await row.waitFor({ state: "detached" });
  const written = readFileSync(join(stage.folder, "my-app", "AGENTS.md"), "utf8");
  expect(written).toContain("gate");
});

test("a finding for a terminal shows the exact command, and copies it", async () => {
  stage.write(
    "gate.config.json",
    JSON.stringify({ id: "my-app", policies: { defaultEffect: "allow" } }),
  );
  const region = await checks();
  const page = region.page();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const waits = rowOf(region, "is not in force until you accept it");
  const href = await waits.getByRole("link", { name: "Open Policy" }).getAttribute("href");
  expect(href).toBe("/policy?project=my-app");
  const row = rowOf(region, "gate proof set");
  await row.getByRole("link", { name: "Set a proof" }).waitFor();
  await row.getByRole("button", { name: "Copy" }).click();
  await row.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("gate proof set");
});

test("the daemon repairs only what its table names, and only for a reviewer", async () => {
  const repair = (body: unknown, scope = "reviewer") =>
    stage.api("POST", "/api/doctor/repairs", body, scope).then(
      () => "done",
      ({ message }) => message,
    );
  expect(await repair({ kind: "home" }, "viewer")).toMatch(/^403/);
  expect(await repair({ kind: "home" }, "agent")).toMatch(/^403/);
  expect(await repair({ kind: "host", host: "--remove", enforce: false })).toMatch(/^400/);
  expect(await repair({ kind: "home", path: "/etc" })).toMatch(/^400/);
  expect(await repair({ kind: "shell" })).toMatch(/^400/);
});

test.each([["light", 390], ["light", 1440], ["dark", 1024]] as const)(
  "the checks fit in %s at %i px, and axe finds nothing",
  async (scheme, width) => {
    chmodSync(join(stage.folder, "home", "logs"), 0o755);
    const region = await checks({ scheme, width });
    const page = region.page();
    await rowOf(region, "others may look into").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      // deno-lint-ignore no-explicit-any
      const { violations } = await (globalThis as any).axe.run(document);
      // deno-lint-ignore no-explicit-any
      return violations.map((one: any) => `${one.id}: ${one.nodes[0].html}`);
    });
    expect(found).toEqual([]);
    if (process.env["GATE_SHOTS"]) {
      await region.scrollIntoViewIfNeeded();
      await page.screenshot({ path: `${process.env["GATE_SHOTS"]}/checks-${scheme}-${width}.png` });
    }
  },
);

import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { Signer } from "../../server/audit/signer.ts";
import { openChromium } from "../browser/chromium.ts";
import { until, World } from "../e2e/world.ts";
import { compare, least, quantile } from "./figures.ts";
import { makeLargeLedger } from "./large_ledger.ts";

const ROUNDS = 15;
const WAITING = 2_000;
const ACTIONS = 100_000;

/** Measures the dashboard of the executable in a real browser. */
export async function bench(): Promise<void> {
  const world = await World.create("executable");
  const browser = await openChromium();
  try {
    await plantLarge(world);
    await world.init({
      defaultEffect: "ask",
      allowedPaths: ["free/**"],
      maxHeldPerSession: 5_000,
      maxHeldPerProject: 5_000,
    });
    await measureFirstPage(world, browser);
    await measureFirstCard(world, browser, { waiting: 20, most: 400 });
    await measureSubmit(world, browser);
    await measureNextCard(world, browser);
    for (const path of ["/approvals", "/actions", "/sessions"]) {
      await measureEvents(world, browser, path);
    }
    await measureFirstCard(world, browser, { waiting: WAITING, most: 600 });
    await measureScroll(world, browser);
  } finally {
    await browser.close();
    await world.close();
  }
}

/** A ledger like months of work, for a project that is registered later. */
async function plantLarge(world: World): Promise<void> {
  const projects = join(world.gateHome, "projects");
  mkdirSync(projects, { recursive: true, mode: 0o700 });
  mkdirSync(join(world.gateHome, "keys"), { mode: 0o700 });
  const signer = Signer.open(projects);
  const folder = join(projects, "large");
  await makeLargeLedger({
    project_id: "large",
    folder,
    signer,
    actions: ACTIONS,
    until: Date.now(),
  });
  cpSync(join(projects, "checkpoints.pem"), join(world.gateHome, "keys", "checkpoints.pem"));
  mkdirSync(join(world.folder, "large"));
  const config = { id: "large", policies: { defaultEffect: "ask" } };
  writeFileSync(join(world.folder, "large", "gate.config.json"), JSON.stringify(config));
}

let made = 0;

/** Submits a write as an agent; it is held unless its folder is `free`. */
async function submit(world: World, folder = "src"): Promise<string> {
  const path = `${folder}/file-${++made}.ts`;
  const input = { path, content: `export const value = ${made};\n` };
  const body = { tool: "write_file", input };
  const { status } = await world.api("POST", "/api/actions?project=demo", body, "agent");
  if (status >= 300) throw new Error(`the write is answered with ${status}`);
  return path;
}

async function submitMany(world: World, count: number, folder?: string): Promise<void> {
  let left = count;
  const one = async () => {
    while (left-- > 0) await submit(world, folder);
  };
  await Promise.all(Array.from({ length: 8 }, one));
}

/** A new browser window, opened by a login link and then at `path`. */
async function open(world: World, browser: Browser, path?: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.goto(await linkOf(world));
  await page.locator(".live-live").waitFor();
  if (path) {
    await page.goto(`http://localhost:${world.port}${path}`);
    await page.locator(".live-live").waitFor();
  }
  return page;
}

async function linkOf(world: World): Promise<string> {
  const { body } = await world.api("POST", "/api/auth/login-code");
  return `http://localhost:${world.port}${body.path}`;
}

/** What the page notes about itself. The clock of browser and bench is the same. */
interface Notes {
  first_card_at: number | null;
  longest_task_ms: number;
  /** Resolves to the time at which an element with this text is there. */
  seen: (selector: string, text: string) => Promise<number>;
}

/** Runs in the page before its own scripts. */
function watch(): void {
  const notes: Notes = {
    first_card_at: null,
    longest_task_ms: 0,
    seen: (selector, text) =>
      new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error(`"${text}" does not appear`)), 30_000);
        const look = () => {
          const found = [...document.querySelectorAll(selector)]
            .some((element) => element.textContent?.includes(text));
          if (!found) return;
          watching.disconnect();
          resolve(Date.now());
        };
        const watching = new MutationObserver(look);
        watching.observe(document, { subtree: true, childList: true, characterData: true });
        look();
      }),
  };
  (globalThis as unknown as { notes: Notes }).notes = notes;
  void notes.seen(".headline", "").then((at) => notes.first_card_at = at, () => {});
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      notes.longest_task_ms = Math.max(notes.longest_task_ms, duration);
    }
  }).observe({ type: "longtask", buffered: true });
}

async function measureFirstCard(
  world: World,
  browser: Browser,
  { waiting, most }: { waiting: number; most: number },
): Promise<void> {
  const { body } = await world.api("GET", "/api/global/approvals/count");
  await submitMany(world, waiting - body.count);
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < 5; round++) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(watch);
    const link = await linkOf(world);
    const started = Date.now();
    await page.goto(link);
    const at = await until("the first card", () => page.evaluate("notes.first_card_at"));
    times.push(Number(at) - started);
    bytes = await page.evaluate(bytesUntil, Number(at));
    await context.close();
  }
  compare(`link → first card, ${waiting} waiting, best`, Math.min(...times), { most, unit: "ms" });
  console.log(`  with the first card the page has loaded ${(bytes / 1_000).toFixed(1)} KB`);
}

/** The first page is what a browser loads before it has a key; the parts of a card follow. */
async function measureFirstPage(world: World, browser: Browser): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://localhost:${world.port}/`);
  await page.getByText("This page needs a key").waitFor();
  const bytes = await page.evaluate(bytesUntil, Date.now());
  compare("first page, compressed", bytes / 1_000, { most: 60, unit: "KB" });
  await context.close();
}

/** The compressed sizes of what the page loaded until then, the API's answers aside. */
function bytesUntil(until: number): number {
  const entries = [
    ...performance.getEntriesByType("navigation"),
    ...performance.getEntriesByType("resource"),
  ] as PerformanceResourceTiming[];
  return entries
    .filter(({ name, startTime }) =>
      !new URL(name).pathname.startsWith("/api/") && performance.timeOrigin + startTime < until
    )
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
}

async function measureSubmit(world: World, browser: Browser): Promise<void> {
  const page = await open(world, browser);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // The page reads at a pace after each event.
    await page.waitForTimeout(1_500);
    const name = `file-${made + 1}.ts`;
    const seen = page.evaluate(
      ([text]) => (globalThis as unknown as { notes: Notes }).notes.seen(".queue-row", text!),
      [name],
    );
    const started = Date.now();
    await submit(world);
    times.push(await seen - started);
  }
  compare("submit → visible, median", quantile(times, 0.5), { most: 100, unit: "ms" });
  await page.context().close();
}

async function measureNextCard(world: World, browser: Browser): Promise<void> {
  const page = await open(world, browser);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.locator(".decision .button-primary:not([aria-disabled])").waitFor();
    const before = await page.locator(".headline").innerText();
    const next = page.evaluate((text) =>
      new Promise<number>((resolve, reject) => {
        setTimeout(() => reject(new Error("no next card appears")), 30_000);
        let pressed = 0;
        addEventListener("keydown", () => pressed = performance.now(), {
          capture: true,
          once: true,
        });
        const watching = new MutationObserver(() => {
          const shown = document.querySelector<HTMLElement>(".headline")?.innerText;
          if (shown === undefined || shown === text) return;
          watching.disconnect();
          resolve(performance.now() - pressed);
        });
        watching.observe(document.body, { subtree: true, childList: true, characterData: true });
      }), before);
    await page.keyboard.press("a");
    times.push(await next);
  }
  compare("decide → next card, median", quantile(times, 0.5), { most: 50, unit: "ms" });
  await page.context().close();
}

/** 250 allowed writes are a thousand events. */
async function measureEvents(world: World, browser: Browser, path: string): Promise<void> {
  const page = await open(world, browser, path);
  await page.waitForTimeout(2_000);
  let requests = 0;
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/api/") && pathname !== "/api/events") requests += 1;
  });
  await page.evaluate("notes.longest_task_ms = 0");
  const started = Date.now();
  await submitMany(world, 250, "free");
  const took = (Date.now() - started) / 1_000;
  await page.waitForTimeout(1_500);
  const longest = await page.evaluate("notes.longest_task_ms");
  const label = `${path}: 1,000 events in ${took.toFixed(1)} s`;
  compare(`${label}, requests`, requests, { most: 19, unit: "" });
  compare(`${label}, longest task`, Number(longest), { most: 100, unit: "ms" });
  await page.context().close();
}

/** Scrolls by a row a frame, as a wheel that does not stop. */
async function measureScroll(world: World, browser: Browser): Promise<void> {
  // Its held actions would be in the queue of the other figures.
  await world.api("POST", "/api/hub/projects", { root: join(world.folder, "large") });
  const page = await open(world, browser, "/actions?project=large");
  await page.locator(".row-link").first().waitFor();
  const frames = await page.evaluate(() =>
    new Promise<number[]>((resolve) => {
      const main = document.querySelector("main")!;
      const times: number[] = [];
      let last = performance.now();
      const step = (now: number) => {
        times.push(now - last);
        last = now;
        main.scrollTop += 40;
        if (times.length < 600) requestAnimationFrame(step);
        else resolve(times.slice(1));
      };
      requestAnimationFrame(step);
    })
  );
  const seconds = frames.reduce((sum, ms) => sum + ms, 0) / 1_000;
  least("100,000 actions scroll", frames.length / seconds, { least: 59, unit: "frames/s" });
  compare("longest frame", Math.max(...frames), { most: 100, unit: "ms" });
  const rows = await page.locator("tbody tr[aria-rowindex]").count();
  compare("rows in the page", rows, { most: 100, unit: "" });
  await page.context().close();
}

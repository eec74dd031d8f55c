/** `deno task pictures`: plays `gate demo` and photographs its dashboard for the README. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { SCENES } from "../../cli/demo/script.ts";
import { Stage } from "../../cli/demo/stage.ts";
import type { Io } from "../../cli/io.ts";
import { unwrap } from "../../server/client.ts";
import { denoFolder } from "../deno_folder.ts";
import { openChromium } from "./chromium.ts";

const PICTURES = fileURLToPath(new URL("../../.github/images/", import.meta.url));
const SIZE = { width: 1280, height: 800 };

/** The file that the agent changes in the picture, before and after. */
const SOURCE = "lib/greeting.ts";
const BEFORE = `/** Greets one person. */
export function greet(name: string): string {
  return "Hello, " + name;
}
`;
const AFTER = `/** Greets one person by name, or everybody. */
export function greet(name?: string): string {
  const who = name?.trim() || "everybody";
  return \`Hello, \${who}!\`;
}
`;

await main();

async function main(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "gate-pictures-"));
  const stage = await Stage.open(createIo(home));
  const browser = await openChromium();
  try {
    stage.write(SOURCE, BEFORE);
    for (const { play } of SCENES) await play(stage);
    await hold(stage, "write_file", { path: SOURCE, content: AFTER });
    await hold(stage, "run_command", { command: "npm publish --tag next" });
    mkdirSync(PICTURES, { recursive: true });
    for (const scheme of ["light", "dark"] as const) await photograph(stage, browser, scheme);
  } finally {
    await browser.close();
    await stage.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Submits an action that waits for a person; the agent does not wait with it. */
async function hold(stage: Stage, tool: string, args: Record<string, unknown>): Promise<void> {
  const { facts } = await stage.call(tool, { ...args, wait_ms: 0 });
  if (facts.status !== "pending") throw new Error(`Cannot hold ${tool}: it is ${facts.status}`);
}

async function photograph(stage: Stage, browser: Browser, scheme: "light" | "dark") {
  const context = await browser.newContext({
    viewport: SIZE,
    colorScheme: scheme,
    reducedMotion: "reduce",
    deviceScaleFactor: 1.5,
  });
  const page = await context.newPage();
  const { client, url } = stage.reviewer;
  const { path } = await unwrap(client.api.auth["login-code"].$post());
  await page.goto(`${url}${path}`);
  await page.getByText(SOURCE).first().click();
  await page.getByText("everybody").first().waitFor();
  await page.locator(".diff .code-keyword").first().waitFor();
  await page.screenshot({ path: `${PICTURES}review-${scheme}.png` });
  await context.close();
}

function createIo(home: string): Io {
  return {
    env: { PATH: process.env["PATH"], HOME: home, ...denoFolder() },
    cwd: home,
    pid: process.pid,
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    onSignal: () => () => {},
    onFault: () => {},
    interrupt: () => {},
    killGroup: () => {},
  };
}

import { existsSync } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Browser, chromium } from "playwright-core";

const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
const UNPACK_DEADLINE_MS = 60_000;

/** A real Chromium without a window: `$CHROME_PATH`, an installed one, else the packaged one. */
export async function openChromium(): Promise<Browser> {
  return await chromium.launch({ executablePath: await chromiumPath(), args: FLAGS });
}

async function chromiumPath(): Promise<string> {
  const asked = process.env["CHROME_PATH"];
  if (asked) return asked;
  const installed = INSTALLED.find((path) => existsSync(path));
  return installed ?? await unpackChromium();
}

// The package unpacks into the temp folder; two test files must not do that at the same time.
async function unpackChromium(): Promise<string> {
  const packaged = (await import("@sparticuz/chromium")).default;
  const lock = join(tmpdir(), "gate-chromium.lock");
  const end = Date.now() + UNPACK_DEADLINE_MS;
  while (!await mkdir(lock).then(() => true, () => false)) {
    // Whoever held it for so long is gone.
    if (Date.now() > end) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  try {
    return await packaged.executablePath();
  } finally {
    await rmdir(lock).catch(() => {});
  }
}

import chromium from "@sparticuz/chromium";
import { existsSync } from "node:fs";
import process from "node:process";
import { type Browser, chromium as engine } from "playwright-core";

export type { Browser } from "playwright-core";

const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** A real Chromium: `$CHROME_PATH`, an installed one, or the one that an npm package brings. */
export async function launchBrowser(): Promise<Browser> {
  const installed = process.env["CHROME_PATH"] ?? INSTALLED.find((path) => existsSync(path));
  return await engine.launch(
    installed
      ? { executablePath: installed, headless: true }
      : { executablePath: await chromium.executablePath(), args: chromium.args, headless: true },
  );
}

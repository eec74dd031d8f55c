import { execFileSync } from "node:child_process";
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
  const installed = process.env["CHROME_PATH"] ?? INSTALLED.find((path) => existsSync(path));
  const found = installed ? { executablePath: installed } : await unpackChromium();
  return await chromium.launch({ ...found, args: FLAGS });
}

interface Unpacked {
  executablePath: string;
  env: Record<string, string>;
}

// The package unpacks into the temp folder; two test files must not do this at the same time.
async function unpackChromium(): Promise<Unpacked> {
  const lock = join(tmpdir(), "gate-chromium.lock");
  const end = Date.now() + UNPACK_DEADLINE_MS;
  while (!await mkdir(lock).then(() => true, () => false)) {
    // The process that held the lock is gone.
    if (Date.now() > end) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  try {
    const { default: packaged, inflate } = await import("@sparticuz/chromium");
    const executablePath = await packaged.executablePath();
    if (!lacksLibraries(executablePath)) return { executablePath, env: environment() };
    const bin = join(import.meta.dirname!, "../../node_modules/@sparticuz/chromium/bin");
    const libraries = join(await inflate(join(bin, "al2023.tar.br")), "lib");
    return { executablePath, env: { ...environment(), LD_LIBRARY_PATH: libraries } };
  } finally {
    await rmdir(lock).catch(() => {});
  }
}

// A bare machine has no NSS; the package brings it, but unpacks it by itself on Lambda only.
function lacksLibraries(program: string): boolean {
  return execFileSync("ldd", [program], { encoding: "utf8" }).includes("not found");
}

// The package brings one proportional font; FONTCONFIG_PATH=/etc/fonts uses the machine's fonts.
function environment(): Record<string, string> {
  return { FONTCONFIG_PATH: join(tmpdir(), "fonts"), ...process.env } as Record<string, string>;
}

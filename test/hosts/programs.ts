import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../node_modules/.gate-hosts", import.meta.url));
const MACHINE = `${process.platform}-${process.arch}`;
const TRIPLES: Record<string, string> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

/** The package of each program, and its path there. No install script runs. */
const PROGRAMS = {
  claude: [
    `@anthropic-ai/claude-code-${MACHINE}@2.1.328`,
    `@anthropic-ai/claude-code-${MACHINE}/claude`,
  ],
  codex: ["@openai/codex@0.169.0", `@openai/codex-${MACHINE}/vendor/${TRIPLES[MACHINE]}/bin/codex`],
  copilot: [`@github/copilot-${MACHINE}@1.0.102`, `@github/copilot-${MACHINE}/copilot`],
  gemini: ["@google/gemini-cli@0.61.0", ".bin/gemini"],
  qwen: ["@qwen-code/qwen-code@0.24.4", ".bin/qwen"],
  opencode: [`opencode-${MACHINE}@1.18.33`, `opencode-${MACHINE}/bin/opencode`],
} as const;

/** Fetches the programs once, before all tests, because they share the folder. */
export function setup(): void {
  const wanted = JSON.stringify(PROGRAMS);
  const mark = join(FOLDER, "installed.json");
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, "package.json"), '{"private":true}');
  const packages = Object.values(PROGRAMS).map(([spec]) => spec);
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages];
  execFileSync("npm", args, { cwd: FOLDER, stdio: "inherit" });
  writeFileSync(mark, wanted);
}

/** Links the programs into a folder for PATH. */
export function linkPrograms(bin: string): void {
  mkdirSync(bin, { recursive: true });
  for (const [name, [, path]] of Object.entries(PROGRAMS)) {
    rmSync(join(bin, name), { force: true });
    symlinkSync(join(FOLDER, "node_modules", path), join(bin, name));
  }
}

/** A PATH with those programs, Node and the folders of the system. */
export function pathWith(bin: string): string {
  const node = execFileSync("sh", ["-c", "command -v node"]).toString().trim();
  return [bin, dirname(node), "/usr/bin", "/bin"].join(":");
}

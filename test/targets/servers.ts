import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { freePort } from "../e2e/world.ts";

const FOLDER = fileURLToPath(new URL("../../node_modules/.gate-targets", import.meta.url));

/** Real servers, in versions with known bugs. */
const PACKAGES = ["json-server@0.17.4", "@stoplight/prism-cli@5.16.0", "node-red@4.0.9"];

/** Installs the servers once, without install scripts. Returns the error, or null. */
export function installServers(): string | null {
  const wanted = JSON.stringify(PACKAGES);
  const mark = join(FOLDER, "installed.json");
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return null;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, "package.json"), '{"private":true}');
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...PACKAGES];
  try {
    execFileSync("npm", args, { cwd: FOLDER, stdio: "inherit" });
  } catch (error) {
    return `npm install failed: ${(error as Error).message}`;
  }
  writeFileSync(mark, wanted);
  return null;
}

/** A running server with its own folder; `close` stops it and removes the folder. */
export interface RealServer {
  url: string;
  folder: string;
  /** True while its process runs. */
  isAlive: () => boolean;
  close: () => Promise<void>;
}

/** Starts a server in its own folder. Resolves when it accepts connections. */
export function startServer(
  name: "json-server" | "prism" | "node-red",
  files: Record<string, string>,
  argsOf: (port: number, folder: string) => string[],
): Promise<RealServer> {
  const script = join(FOLDER, "node_modules/.bin", name);
  return start(name, files, (port, folder) => ["node", script, ...argsOf(port, folder)]);
}

/** Returns why httpbin cannot run here, or null. It comes with the system, not from npm. */
export function missingHttpbin(): string | null {
  const { status } = spawnSync("gunicorn", ["--check-config", "httpbin:app"]);
  return status === 0 ? null : "no httpbin: apt-get install gunicorn python3-httpbin";
}

/** Starts httpbin on gunicorn. */
export function startHttpbin(): Promise<RealServer> {
  return start("httpbin", {}, (port) => {
    // With threads, two slow answers do not block both workers.
    return ["gunicorn", "-w", "2", "--threads", "32", "-b", `127.0.0.1:${port}`, "httpbin:app"];
  });
}

async function start(
  name: string,
  files: Record<string, string>,
  lineOf: (port: number, folder: string) => string[],
): Promise<RealServer> {
  const folder = mkdtempSync(join(tmpdir(), `gate-${name}-`));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const port = await freePort();
  const [command, ...args] = lineOf(port, folder);
  const child = spawn(command!, args, { cwd: folder, stdio: "ignore", detached: true });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await untilOpen(port, child);
  return {
    url: `http://127.0.0.1:${port}`,
    folder,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    close: async () => {
      // Kills the process group, because gunicorn has workers.
      try {
        process.kill(-child.pid!, "SIGKILL");
      } catch (error) {
        // Some tests send requests that may stop it.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilOpen(port: number, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline && child.exitCode === null) {
    if (await isOpen(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`It never took a connection (${process.version}, exit ${child.exitCode})`);
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => resolve(socket.destroy() && true));
    socket.once("error", () => resolve(false));
  });
}

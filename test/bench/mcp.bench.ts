import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, connectClient, StdioClientTransport } from "../server/mcp/sdk_client.ts";
import { World } from "../e2e/world.ts";
import { compare, quantile, report } from "./figures.ts";

const RIVAL = "@modelcontextprotocol/server-filesystem@2026.8.31";
const WRITES = 300;
const WARM_UP = 30;
const CONTENT = "x".repeat(4095) + "\n";

/** Times a 4 KiB write over MCP on stdio, and compares it with a server without policy or ledger. */
export async function bench(): Promise<void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "gate-bench-")));
  const world = await World.create("executable");
  try {
    install(folder);
    await world.init({ defaultEffect: "allow" });
    const rival = await connectRival(folder);
    const [command, ...args] = world.command(["mcp"]);
    const ours = await connect(command!, args, world.project, world.env);
    const times: { rival: number[]; ours: number[] } = { rival: [], ours: [] };
    for (let at = 0; at < WRITES + WARM_UP; at++) {
      // Each server gets ten files, so that most writes overwrite one.
      const rivals = await timeWrite(rival, join(folder, "files", `${at % 10}.txt`));
      const own = await timeWrite(ours, `src/${at % 10}.txt`);
      if (at < WARM_UP) continue;
      times.rival.push(rivals);
      times.ours.push(own);
    }
    await Promise.all([rival.close(), ours.close()]);
    report("server-filesystem, no ledger", times.rival);
    report("gate, policy and ledger", times.ours);
    const ratio = quantile(times.ours, 0.5) / quantile(times.rival, 0.5);
    compare("ratio of the medians", ratio, { most: 1.5, unit: "x" });
    const slow = quantile(times.ours, 0.99) / quantile(times.rival, 0.99);
    compare("ratio of the slowest of a hundred", slow, { most: 3, unit: "x" });
  } finally {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function install(folder: string): void {
  writeFileSync(join(folder, "package.json"), "{}");
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", RIVAL];
  const { status, stderr } = spawnSync("npm", args, { cwd: folder });
  if (status !== 0) throw new Error(`Cannot install ${RIVAL} to compare with: ${stderr}`);
}

async function connectRival(folder: string): Promise<Client> {
  const files = join(folder, "files");
  mkdirSync(files);
  const program = join(folder, "node_modules/.bin/mcp-server-filesystem");
  return await connect("node", [program, files], files, {});
}

async function connect(command: string, args: string[], cwd: string, env: Record<string, string>) {
  return await connectClient(
    new StdioClientTransport({ command, args, cwd, env, stderr: "ignore" }),
  );
}

async function timeWrite(client: Client, path: string): Promise<number> {
  const started = performance.now();
  const args = { path, content: `${started}\n${CONTENT}` };
  const answer = await client.callTool({ name: "write_file", arguments: args });
  if (answer.isError) throw new Error(`Cannot write "${path}": ${JSON.stringify(answer)}`);
  return performance.now() - started;
}

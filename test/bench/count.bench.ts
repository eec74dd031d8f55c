import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { readToken } from "../../server/auth/tokens.ts";
import { freePort, SUBJECTS, until, World } from "../e2e/world.ts";
import { least, quantile } from "./figures.ts";
import type { Endpoint } from "./http.ts";

const CONNECTIONS = 8;
const ROUNDS = 5;
const ROUND_MS = 1_500;
const PATH = "/api/actions?count=true";

/** Compares requests per second: gate's smallest route and the same route on bare Hono and Bun. */
export async function bench(): Promise<void> {
  const world = await World.create("executable");
  const bare = await startBare(world);
  try {
    await world.init();
    const gate = { port: world.port, token: await readToken(world.gateHome, "viewer") };
    const rates: Record<string, number[]> = { bare: [], gate: [] };
    for (let round = 0; round <= ROUNDS; round++) {
      const pair = {
        bare: await rateOf({ port: bare.port, token: "-" }),
        gate: await rateOf(gate),
      };
      if (round === 0) continue; // the first round warms up the JIT
      rates["bare"]!.push(pair.bare);
      rates["gate"]!.push(pair.gate);
    }
    const [theirs, ours] = [quantile(rates["bare"]!, 0.5), quantile(rates["gate"]!, 0.5)];
    console.log(`  bare ${theirs.toFixed(0)} requests/s, gate ${ours.toFixed(0)} requests/s`);
    least("share of the bare route's", ours / theirs * 100, { least: 60, unit: "%" });
  } finally {
    bare.stop();
    await world.close();
  }
}

/** Starts a server with only that route, on the runtime of the executable. */
async function startBare(world: World): Promise<{ port: number; stop: () => void }> {
  const port = await freePort();
  const program = join(world.folder, "bare.ts");
  const hono = import.meta.resolve("hono");
  writeFileSync(
    program,
    `import { Hono } from ${JSON.stringify(hono)};
    const app = new Hono().get("/api/actions", (c) => c.json({ count: 0 }));
    Bun.serve({ port: ${port}, hostname: "127.0.0.1", fetch: app.fetch });`,
  );
  const child = spawn(SUBJECTS.bun[0], [program], { stdio: ["ignore", "ignore", "inherit"] });
  await until("the bare route answers", () => isListening(port));
  return { port, stop: () => void child.kill() };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

/** Responses per second over several connections, each with one request in flight. */
async function rateOf(endpoint: Endpoint): Promise<number> {
  const started = performance.now();
  const counts = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => askOn(endpoint, started + ROUND_MS)),
  );
  const all = counts.reduce((sum, count) => sum + count, 0);
  return all / (performance.now() - started) * 1_000;
}

function askOn({ port, token }: Endpoint, end: number): Promise<number> {
  const request = `GET ${PATH} HTTP/1.1\r\nHost: localhost:${port}\r\n` +
    `Authorization: Bearer ${token}\r\n\r\n`;
  return new Promise((resolve, reject) => {
    let count = 0;
    let text = "";
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.setEncoding("latin1");
    socket.on("connect", () => socket.write(request));
    socket.on("data", (piece) => {
      text += piece;
      if (!isComplete(text)) return;
      if (!text.startsWith("HTTP/1.1 200 ")) return reject(new Error(`${PATH} answers ${text}`));
      count++;
      text = "";
      if (performance.now() < end) return socket.write(request);
      socket.destroy();
      resolve(count);
    });
    socket.on("error", reject);
  });
}

function isComplete(text: string): boolean {
  const head = text.indexOf("\r\n\r\n");
  const length = /^content-length: *(\d+)/im.exec(text)?.[1];
  return head >= 0 && length !== undefined && text.length >= head + 4 + Number(length);
}

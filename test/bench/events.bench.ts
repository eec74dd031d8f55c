import { get } from "node:http";
import { readToken } from "../../server/auth/tokens.ts";
import { until, World } from "../e2e/world.ts";
import { compare, quantile } from "./figures.ts";
import { ask, type Endpoint } from "./http.ts";

const READERS = 1_000;
const ROUNDS = 100;

/** Measures how long an event takes from the request to one listener and to a thousand. */
export async function bench(): Promise<void> {
  const world = await World.create("executable");
  const heard: Heard = { count: 0, at: 0 };
  const readers: Reader[] = [];
  try {
    await world.init();
    const endpoint = { port: world.port, token: await readToken(world.gateHome, "reviewer") };
    readers.push(await listen(endpoint, heard));
    const [alone, committed] = await timeSessions(endpoint, heard, 1);
    compare("request → one dashboard, p95", quantile(alone!, 0.95), { most: 50, unit: "ms" });
    compare("response → one dashboard, p95", quantile(committed!, 0.95), { most: 50, unit: "ms" });
    while (readers.length < READERS) readers.push(await listen(endpoint, heard));
    const [last, after] = await timeSessions(endpoint, heard, READERS);
    compare(`request → last of ${READERS}, p99`, quantile(last!, 0.99), { most: 50, unit: "ms" });
    compare(`response → last of ${READERS}, p99`, quantile(after!, 0.99), { most: 50, unit: "ms" });
  } finally {
    for (const reader of readers) reader.close();
    await world.close();
  }
}

/** The delays since the request and since the response. The commit happens between the two. */
async function timeSessions(
  endpoint: Endpoint,
  heard: Heard,
  readers: number,
): Promise<[request: number[], response: number[]]> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    heard.count = 0;
    const started = performance.now();
    await ask(endpoint, "/api/sessions", { agent: "bench" });
    const answered = performance.now();
    await until("all listeners have the event", () => heard.count === readers);
    times[0].push(heard.at - started);
    times[1].push(Math.max(0, heard.at - answered));
  }
  return times;
}

/** The number of events received in this round, and the time of the last one. */
interface Heard {
  count: number;
  at: number;
}

interface Reader {
  close: () => void;
}

/** Opens an event stream that counts events and notes the time of the last one. */
function listen({ port, token }: Endpoint, heard: Heard): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const path = "/api/events?topics=sessions";
    const request = get({ host: "127.0.0.1", port, path, headers, agent: false }, (answer) => {
      answer.setEncoding("utf8");
      answer.on("data", (text: string) => {
        resolve({ close: () => request.destroy() });
        heard.count += text.match(/^event: sessions$/gm)?.length ?? 0;
        heard.at = performance.now();
      });
    });
    request.on("error", reject);
  });
}

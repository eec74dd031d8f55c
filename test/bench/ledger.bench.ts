import { join } from "node:path";
import { readToken } from "../../server/auth/tokens.ts";
import { World } from "../e2e/world.ts";
import { compare, quantile } from "./figures.ts";
import { ask, type Endpoint } from "./http.ts";
import { IDS, plantAll } from "./planted.ts";
import { framesIn, noise } from "./writes.ts";

const ROUNDS = 60;
const WARM_UP = 150;
const WRITES = 120;
const MOST_GROWTH = 1.3;

/** Compares reads and writes of ledgers by their size. */
export async function bench(): Promise<void> {
  const world = await World.create("executable");
  try {
    const until = Date.now();
    const endpoint = await plantAll(world, until);
    await compareReads(endpoint, until);
    await compareWrites(world);
  } finally {
    await world.close();
  }
}

/** Reads that return a full page from each ledger, or nothing from each. */
function readsOf(until: number): Record<string, string> {
  const time = (days: number) => new Date(until - days * 86_400_000).toISOString();
  return {
    "list": "actions",
    "status": "actions?status=approved",
    "tool": "actions?tool=run_command",
    "agent": "actions?agent=codex",
    "execution": "actions?execution=succeeded",
    "risk": "actions?risk=low",
    "session": "actions?session_id=session-3",
    "path of none": "actions?path=nowhere",
    "from": `actions?from=${time(30)}`,
    "to": `actions?to=${time(30)}`,
    "from, to, tool": `actions?from=${time(60)}&to=${time(20)}&tool=run_command`,
    "agent, status": "actions?agent=codex&status=approved",
    "word": "actions?q=src&limit=25",
    "word of none": "actions?q=nowhere",
    "two words": "actions?q=default%20allowed&limit=25",
    "two words, one of none": "actions?q=src%20nowhere",
    "two frequent words that never meet": "actions?q=server%20ui",
    "word, agent": "actions?q=allowed&agent=codex&limit=25",
    "words, tool": "actions?q=allowed%20default&tool=write_file&limit=25",
    "count of pending": "actions?count=true",
    "sessions": "sessions?limit=10",
    "summary of 30 days": "analytics/summary?window=30d",
    "hits of each rule": "policy/hits",
  };
}

/** Alternates between the ledgers, so that other load affects all equally. */
async function compareReads(endpoint: Endpoint, until: number): Promise<void> {
  for (let round = 0; round < WARM_UP; round++) {
    for (const id of IDS) await ask(endpoint, `/api/actions?limit=5&project=${id}`);
  }
  for (const [name, path] of Object.entries(readsOf(until))) {
    const times = new Map<string, number[]>(IDS.map((id) => [id, []]));
    const at = (id: string) => `/api/${path}${path.includes("?") ? "&" : "?"}project=${id}`;
    for (let round = 0; round < ROUNDS + 3; round++) {
      for (const id of IDS) {
        const { ms } = await ask(endpoint, at(id));
        if (round >= 3) times.get(id)!.push(ms);
      }
    }
    compareSizes(name, [...times.values()].map((own) => quantile(own, 0.5)), "ms");
  }
}

/** Prints the figure of each size, and the most that a larger one takes more than the smallest. */
function compareSizes(name: string, figures: number[], unit: string): void {
  const shown = figures.map((figure) => figure.toFixed(2)).join(" → ");
  const growth = Math.max(...figures) / figures[0]!;
  compare(`${name}: ${shown} ${unit}`, growth, { most: MOST_GROWTH, unit: "×" });
}

/** In turns, with 4 KiB that do not compress. */
async function compareWrites(world: World): Promise<void> {
  const endpoint = { port: world.port, token: await readToken(world.gateHome, "agent") };
  const write = async (id: string, number: number): Promise<number> => {
    const input = { path: `written/${number % 20}.txt`, content: noise(4_000) };
    const { ms } = await ask(endpoint, `/api/actions?project=${id}`, { tool: "write_file", input });
    return ms;
  };
  for (let number = 0; number < WARM_UP / 3; number++) {
    for (const id of IDS) await write(id, number);
  }
  // At once, because a daemon at rest closes its ledgers, and their logs go.
  const logs = IDS.map((id) => join(world.gateHome, "projects", id, "ledger.db-wal"));
  const before = logs.map(framesIn);
  const times = IDS.map((): number[] => []);
  for (let number = 0; number < WRITES; number++) {
    for (const [at, id] of IDS.entries()) times[at]!.push(await write(id, number));
  }
  const pages = logs.map((log, at) => (framesIn(log) - before[at]!) / WRITES);
  compareSizes("a write", times.map((own) => quantile(own, 0.5)), "ms");
  compareSizes("pages of the log for a write", pages, "pages");
  const last = await world.api("GET", `/api/actions?project=${IDS[0]}&limit=1`);
  if (last.body.items[0].execution !== "succeeded") throw new Error("Cannot write: it is held");
}

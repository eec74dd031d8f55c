import process from "node:process";
import { connectClient, StdioClientTransport } from "../server/mcp/sdk_client.ts";
import { World } from "../e2e/world.ts";
import { compare, quantile, report } from "./figures.ts";
import { timeOf } from "./programs.ts";

const WRITES = 400;
const STARTS = 60;
const WARM_UP = 20;
const CONTENT = "x".repeat(4095) + "\n";
/** On a quiet machine, two runs of one executable differ by up to this factor. */
const NOISE = 1.05;

interface Subject {
  name: string;
  times: Record<string, number[]>;
  write: (at: number) => Promise<void>;
  start: (args: string[]) => number;
  close: () => Promise<void>;
}

/** Compares this executable with the older one at `$GATE_OLDER`. */
export async function bench(): Promise<void> {
  const path = process.env["GATE_OLDER"];
  if (!path) return console.log("  set GATE_OLDER to an older executable");
  const subjects = [await open("older", [path]), await open("this", null)];
  try {
    await takeTurns(subjects, "write_file over MCP, 4 KiB", WRITES, ({ write }, at) => write(at));
    for (const args of [["--version"], ["prompt"], ["status"], ["pending", "--json"]]) {
      await takeTurns(subjects, `gate ${args.join(" ")}`, STARTS, ({ start }) => start(args));
    }
    print(subjects);
  } finally {
    for (const subject of subjects) await subject.close();
  }
}

async function open(name: string, command: string[] | null): Promise<Subject> {
  const world = await World.create("executable");
  if (command) world.use(command);
  await world.init({ defaultEffect: "allow" });
  const [program, ...args] = world.command(["mcp"]);
  const transport = new StdioClientTransport({
    command: program!,
    args,
    cwd: world.project,
    env: world.env,
    stderr: "ignore",
  });
  const client = await connectClient(transport);
  return {
    name,
    times: {},
    async write(at) {
      const input = { path: `src/${at % 10}.txt`, content: `${at}\n${CONTENT}` };
      const answer = await client.callTool({ name: "write_file", arguments: input });
      if (answer.isError) throw new Error(`Cannot write: ${JSON.stringify(answer)}`);
    },
    start(args) {
      const [program, ...all] = world.command(args);
      return timeOf(program!, all, world);
    },
    async close() {
      await client.close();
      await world.close();
    },
  };
}

/** Alternates between the subjects, so that other load affects both equally. */
async function takeTurns(
  subjects: Subject[],
  what: string,
  rounds: number,
  run: (subject: Subject, at: number) => Promise<void> | number,
): Promise<void> {
  for (const subject of subjects) subject.times[what] = [];
  for (let at = 0; at < rounds + WARM_UP; at++) {
    for (const subject of at % 2 ? subjects : subjects.toReversed()) {
      const started = performance.now();
      await run(subject, at);
      if (at >= WARM_UP) subject.times[what]!.push(performance.now() - started);
    }
  }
}

function print([older, current]: Subject[]): void {
  for (const what of Object.keys(current!.times)) {
    const [before, now] = [older!.times[what]!, current!.times[what]!];
    report(`${what}, older`, before);
    report(`${what}, this`, now);
    const ratio = quantile(now, 0.5) / quantile(before, 0.5);
    compare("ratio of the medians", ratio, { most: NOISE, unit: "x" });
  }
}

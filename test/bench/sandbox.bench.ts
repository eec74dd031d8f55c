import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Client, connectClient, StdioClientTransport } from "../server/mcp/sdk_client.ts";
import { World } from "../e2e/world.ts";
import { findEngine } from "../../server/sandbox/engine.ts";
import { compare, quantile, report } from "./figures.ts";

const ROUNDS = 100;
const WARM_UP = 15;
/** A real process on both sides: a program, and a shell, because `eval` is never proved. */
const TRUE = [
  { name: "true, a program", command: "/usr/bin/true" },
  { name: "true in a shell", command: "eval true" },
];
/**
 * The folders in which the commands of a row run, in turns, and whether a hidden file comes or goes
 * before each of them: then each needs another sandbox than the last one, and none is built ahead.
 */
const SANDBOXES = [
  { kind: "built ahead", folders: ["."], changes: false },
  { kind: "built ahead, folders in turns", folders: [".", "src"], changes: false },
  { kind: "built for it", folders: ["."], changes: true },
] as const;
/** In a folder of its own: the files beside it would be looked at again too. */
const HIDDEN = "settings/.env";
/** Before each command. An agent reads and thinks for longer. */
const PAUSE_MS = 100;
/** Two builds of C files: one that ends in a moment, and one of the length of real ones. */
const BUILDS = [
  { name: "short build", sources: 30, rounds: 25 },
  { name: "long build", sources: 240, rounds: 9 },
];
/** Long enough that both answers hold the outcome. */
const WAIT_MS = 120_000;

/**
 * Times a command over MCP in the sandbox and outside it, in turns: `true` without a process, as a
 * program and in a shell, and two builds.
 */
export async function bench(): Promise<void> {
  const engine = await findEngine({ confine: null });
  if (engine === null) throw new Error("this machine has no sandbox engine");
  const worlds = [await World.create("executable"), await World.create("executable")] as const;
  try {
    const [bare, walled] = [
      await connect(worlds[0], { mode: "off" }),
      await connect(worlds[1], { mode: "always" }),
    ];
    const run = { bare, walled };
    // Outside, gate answers this one without any process, so this is more than a sandbox adds.
    await inTurns("true without a process", "true", run, { rounds: ROUNDS });
    for (const { name, command } of TRUE) {
      for (const { kind, folders, changes } of SANDBOXES) {
        const change = (round: number) => {
          for (const world of worlds) {
            if (round % 2 === 0) world.write(HIDDEN, "KEY=2\n");
            else rmSync(join(world.project, HIDDEN));
          }
        };
        const options = { rounds: ROUNDS, folders, ...changes && { change } };
        const added = await inTurns(`${name}, ${kind}`, command, run, options);
        compare("added by the sandbox, fastest", added.fastest, { most: 10, unit: "ms" });
        compare("added by the sandbox, median", added.more, { most: 10, unit: "ms" });
      }
    }
    for (const { name, sources, rounds } of BUILDS) {
      const command = `make -s clean && make -s -j2 MANY=${sources}`;
      const build = await inTurns(name, command, run, { rounds, warm_up: 1 });
      compare(`${name}, medians of ${rounds} runs each`, build.ratio, { most: 1.05, unit: "x" });
    }
    await Promise.all([bare.close(), walled.close()]);
  } finally {
    for (const world of worlds) await world.close();
  }
}

async function connect(world: World, sandbox: { mode: string }): Promise<Client> {
  const sources = Math.max(...BUILDS.map(({ sources }) => sources));
  for (let at = 0; at < sources; at++) world.write(`src/part${at}.c`, sourceOf(at));
  world.write("src/main.c", "int main(void) { return 0; }\n");
  world.write("Makefile", MAKEFILE);
  world.write(".env", "KEY=1\n");
  await world.init({ defaultEffect: "allow", blockedPaths: ["**/.env"], sandbox });
  const [command, ...args] = world.command(["mcp"]);
  return await connectClient(
    new StdioClientTransport({
      command: command!,
      args,
      cwd: world.project,
      env: world.env,
      stderr: "ignore",
    }),
  );
}

function sourceOf(at: number): string {
  const body = Array.from(
    { length: 40 },
    (_, line) => `  if (x % ${line + 2} == 0) x = x * ${line + 3} + strlen(text);`,
  );
  return [
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>",
    `long part${at}(long x, const char *text) {\n${body.join("\n")}\n  return x;\n}\n`,
  ].join("\n");
}

const MAKEFILE = `LAST = $(shell expr $(MANY) - 1)
OBJECTS = src/main.o $(patsubst %,src/part%.o,$(shell seq 0 $(LAST)))
app: $(OBJECTS)
\tcc -o $@ $^
src/%.o: src/%.c
\tcc -O1 -c -o $@ $<
clean:
\trm -f app src/*.o
`;

/**
 * Runs the same command by gate on both sides in turns, each side first in every other round. Returns
 * how much longer the sandbox takes.
 */
async function inTurns(
  name: string,
  command: string,
  { bare, walled }: { bare: Client; walled: Client },
  { rounds, warm_up = WARM_UP, folders = ["."], change }: {
    rounds: number;
    warm_up?: number;
    folders?: readonly string[];
    /** Runs before each round. */
    change?: (round: number) => void;
  },
): Promise<{ more: number; fastest: number; ratio: number }> {
  const times = { bare: [] as number[], walled: [] as number[] };
  for (let round = 0; round < rounds + warm_up; round++) {
    const order = round % 2 === 0 ? ["bare", "walled"] as const : ["walled", "bare"] as const;
    const cwd = folders[round % folders.length]!;
    change?.(round);
    for (const side of order) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      const client = side === "bare" ? bare : walled;
      const elapsed = await timeRun(client, { command, cwd }, side === "walled");
      if (round >= warm_up) times[side].push(elapsed);
    }
  }
  report(`${name}, outside`, times.bare);
  report(`${name}, in the sandbox`, times.walled);
  const [outside, inside] = [quantile(times.bare, 0.5), quantile(times.walled, 0.5)];
  const fastest = Math.min(...times.walled) - Math.min(...times.bare);
  return { more: inside - outside, fastest, ratio: inside / outside };
}

async function timeRun(
  client: Client,
  { command, cwd }: { command: string; cwd: string },
  isWalled: boolean,
): Promise<number> {
  const started = performance.now();
  const answer = await client.callTool({
    name: "run_command",
    arguments: { command, cwd, wait_ms: WAIT_MS },
  });
  const elapsed = performance.now() - started;
  const { exit_code, decision } = answer.structuredContent as {
    exit_code: number;
    decision: { sandbox: unknown };
  };
  const isInside = decision.sandbox !== null && decision.sandbox !== undefined;
  if (exit_code !== 0 || isInside !== isWalled) {
    throw new Error(`Cannot time "${command}": ${JSON.stringify(answer.structuredContent)}`);
  }
  return elapsed;
}

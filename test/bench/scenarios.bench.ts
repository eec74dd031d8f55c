import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { operationsOf } from "../../cli/scenario/generate/documents.ts";
import { generateScenarios } from "../../cli/scenario/generate/generate.ts";
import { SUBJECTS } from "../e2e/world.ts";
import { fetchTool } from "./fetched_tool.ts";
import { compare, least, quantile, report } from "./figures.ts";
import { buildEmpty, timeOf } from "./programs.ts";

const COUNT = 200;
const STARTS = 60;
const RUNS = 5;

/** Times the start of the scenario tool, its generator and its runs. */
export async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gate-bench-"));
  const tool = join(folder, "scenario-tool");
  symlinkSync(SUBJECTS.executable[0], tool);
  try {
    compareStarts(tool, folder);
    timeGeneration(tool, folder);
    await compareRunners(tool, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compareStarts(tool: string, folder: string): void {
  const empty = buildEmpty(folder);
  const times = { empty: [] as number[], ours: [] as number[] };
  for (let round = 0; round < STARTS + 10; round++) {
    const pair = { empty: timeOf(empty, []), ours: timeOf(tool, ["--version"]) };
    if (round < 10) continue; // the first rounds read the files from disk
    times.empty.push(pair.empty);
    times.ours.push(pair.ours);
  }
  report("an empty Bun executable", times.empty);
  report("scenario-tool --version", times.ours);
  const ratio = quantile(times.ours, 0.5) / quantile(times.empty, 0.5);
  compare("ratio of the medians", ratio, { most: 1.5, unit: "x" });
}

/** Times the generator alone in this process, and the whole program. */
function timeGeneration(tool: string, folder: string): void {
  const text = JSON.stringify(openapi());
  const times = Array.from({ length: 20 }, () => {
    const started = performance.now();
    const scenarios = generateScenarios(operationsOf(text, "openapi.json"), {
      depth: "normal",
      budget: COUNT,
    });
    if (scenarios.length !== COUNT) throw new Error(`Only ${scenarios.length} were generated`);
    return performance.now() - started;
  });
  report(`${COUNT} scenarios of 50 operations`, times.slice(1));
  compare("the first time, code cold", times[0]!, { most: 100, unit: "ms" });
  writeFileSync(join(folder, "openapi.json"), text);
  const whole = Array.from({ length: RUNS }, () => {
    const args = ["run", "--spec", join(folder, "openapi.json"), "--budget", String(COUNT)];
    return timeOf(tool, [...args, "--output", "json"]);
  });
  report("the same as a program", whole);
  compare("the best of them, start included", Math.min(...whole), { most: 100, unit: "ms" });
}

/** Times 200 requests by each tool, including its start. */
async function compareRunners(tool: string, folder: string): Promise<void> {
  const { server, url } = await listen();
  try {
    const runners: Record<string, string[] | null> = {
      "scenario-tool": [tool, ...writeScenarios(folder, url)],
      newman: program("newman@6.2.2", "newman", folder, writeCollection(folder, url)),
      stepci: program("stepci@2.8.2", "stepci", folder, writeWorkflow(folder, url)),
    };
    const ready = Object.entries(runners).filter(([, command]) => command !== null);
    const times = Object.fromEntries(ready.map(([name]) => [name, [] as number[]]));
    // Alternates between the tools, so that other load affects all equally.
    for (let run = 0; run < RUNS; run++) {
      for (const [name, command] of ready) times[name]!.push(await timeRun(command!));
    }
    for (const [name, taken] of Object.entries(times)) {
      report(`${COUNT} requests by ${name}`, taken);
    }
    for (const other of ["newman", "stepci"]) {
      if (times[other] === undefined) continue;
      const factor = quantile(times[other], 0.5) / quantile(times["scenario-tool"]!, 0.5);
      least(`faster than ${other} by`, factor, { least: 5, unit: "x" });
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Counts requests, because a runner that skips some would look fast. */
async function listen(): Promise<{ server: Server; url: string }> {
  const server = createServer((_request, response) => {
    arrived++;
    response.setHeader("Content-Type", "application/json");
    response.end('{"ok":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

let arrived = 0;

async function timeRun([program, ...args]: string[]): Promise<number> {
  arrived = 0;
  const env = { ...process.env, STEPCI_DISABLE_ANALYTICS: "1" }; // stepci waits for its telemetry
  const started = performance.now();
  const child = spawn(program!, args, { env, stdio: "ignore" });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  const took = performance.now() - started;
  if (code === 0 && arrived === COUNT) return took;
  throw new Error(`Cannot time ${args[0]}: it ended with ${code} after ${arrived} requests`);
}

function program(pack: string, bin: string, folder: string, args: string[]): string[] | null {
  const found = fetchTool(pack, bin, mkdtempSync(join(folder, "npm-")));
  return found === null ? null : ["node", found, ...args];
}

const paths = Array.from({ length: COUNT }, (_, n) => `/things/${n}`);

function writeScenarios(folder: string, url: string): string[] {
  const file = join(folder, "scenarios.json");
  const scenarios = paths.map((path, n) => ({
    scenario_id: `TS-${String(n + 1).padStart(3, "0")}`,
    title: `Thing ${n}`,
    user_perspective: "Somebody looks at a thing.",
    preconditions: [],
    steps: [`GET ${path}`],
    chaos_factors: [],
    expected_behavior: "It is shown.",
    failure_modes: [],
    priority: "high",
    confidence_area: "things",
    is_edge_case: false,
    exec: { mode: "http", method: "GET", path, expected_status: 200 },
  }));
  writeFileSync(file, JSON.stringify(scenarios));
  return ["run", "--scenarios", file, "--target", url, "--output", "json"];
}

function writeCollection(folder: string, url: string): string[] {
  const file = join(folder, "collection.json");
  const schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
  const script = ["pm.test('ok', () => pm.response.to.have.status(200))"];
  const item = paths.map((path) => ({
    name: path,
    event: [{ listen: "test", script: { exec: script } }],
    request: { method: "GET", url: url + path },
  }));
  writeFileSync(file, JSON.stringify({ info: { name: "bench", schema }, item }));
  return ["run", file, "--silent"];
}

function writeWorkflow(folder: string, url: string): string[] {
  const file = join(folder, "workflow.yml");
  const steps = paths.map((path) => ({
    name: path,
    http: { url: url + path, method: "GET", check: { status: 200 } },
  }));
  // Every JSON file is also valid YAML.
  writeFileSync(file, JSON.stringify({ version: "1.1", name: "bench", tests: { all: { steps } } }));
  return ["run", file];
}

/** A document with 25 resources, each with GET and POST. */
function openapi(): object {
  const body = {
    content: {
      "application/json": {
        schema: {
          type: "object",
          required: ["name"],
          properties: { name: { type: "string", maxLength: 50 }, count: { type: "integer" } },
        },
      },
    },
  };
  const answers = {
    200: { description: "ok" },
    400: { description: "bad" },
    404: { description: "none" },
  };
  const paths = Array.from({ length: 25 }, (_, n) => [`/r${n}/{id}`, {
    parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
    get: { responses: answers },
    post: { requestBody: body, responses: answers },
  }]);
  return {
    openapi: "3.1.0",
    info: { title: "bench", version: "1" },
    paths: Object.fromEntries(paths),
  };
}

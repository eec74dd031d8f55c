import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import { main, type ToolIo } from "../../../cli/scenario/main.ts";

/** A valid scenario with some fields changed. */
export function scenario(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    scenario_id: "TS-001",
    title: "Opening the shop",
    user_perspective: "A customer opens the shop.",
    preconditions: [],
    steps: ["Open the shop"],
    chaos_factors: [],
    expected_behavior: "The shop opens.",
    failure_modes: ["It does not"],
    priority: "high",
    confidence_area: "shop",
    is_edge_case: false,
    ...changes,
  };
}

/** Scenarios with these execs, numbered from TS-001. */
export function execs(...list: Record<string, unknown>[]): Record<string, unknown>[] {
  return list.map(({ priority = "high", ...exec }, index) =>
    scenario({ scenario_id: `TS-${String(index + 1).padStart(3, "0")}`, priority, exec })
  );
}

/** Creates a folder with these files and removes it after the test. */
export function folder(files: Record<string, unknown> = {}): string {
  const path = mkdtempSync(join(tmpdir(), "scenario-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(
      join(path, name),
      typeof content === "string" ? content : JSON.stringify(content),
    );
  }
  return path;
}

/** Runs the tool in this process. Returns the exit code, stdout and stderr. */
export function tool(cwd: string, ...argv: string[]) {
  return toolWith({}, cwd, ...argv);
}

/** Runs the tool with another ToolIo. */
export async function toolWith(io: Partial<ToolIo>, cwd: string, ...argv: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const texts = [stdout, stderr].map((stream) => {
    const chunks: string[] = [];
    stream.on("data", (chunk) => chunks.push(String(chunk)));
    return chunks;
  });
  const code = await main(argv, {
    version: "0.0.0-test",
    env: { ...process.env },
    cwd,
    pid: process.pid,
    stdin,
    stdout,
    stderr,
    onSignal: () => () => {},
    onFault: () => {},
    interrupt: () => {},
    killGroup: (pid) => {
      try {
        process.kill(-pid, "SIGKILL");
      } catch {
        // The process group has already ended.
      }
    },
    ...io,
  });
  await new Promise((resolve) => setImmediate(resolve));
  return { code, stdout: texts[0]!.join(""), stderr: texts[1]!.join("") };
}

/** Runs `run --output json` on scenarios and parses its output. */
export async function runJson(scenarios: unknown[], ...argv: string[]) {
  const cwd = folder({ "scenarios.json": { scenarios } });
  const { code, stdout, stderr } = await tool(cwd, "run", "--output", "json", ...argv);
  return { code, stderr, ...JSON.parse(stdout) };
}

/** Starts a server on loopback and closes it after the test. */
export async function serve(
  handler: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<
  { url: string; server: Server; requests: { line: string; headers: string[]; body: string }[] }
> {
  const requests: { line: string; headers: string[]; body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: string[] = [];
    request.setEncoding("utf8").on("data", (chunk) => chunks.push(chunk)).on("end", () => {
      const body = chunks.join("");
      const line = `${request.method} ${request.url}`;
      requests.push({ line, headers: request.rawHeaders, body });
      handler(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, requests };
}

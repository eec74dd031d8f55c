import { Command } from "@commander-js/extra-typings";
import { z } from "zod";
import { Scope } from "../../server/auth/schema.ts";
import { withProof } from "../../server/client.ts";
import { openConnection } from "../daemon/connect.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { readData } from "../terminal/input.ts";
import type { Io } from "../io.ts";
import { PASSPHRASE_STDIN, type PassphraseOptions } from "../proof/passphrases.ts";
import { Prover } from "../proof/prover.ts";
import { print, printJson } from "../terminal/output.ts";
import { findRoot } from "../project.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** `gate api <METHOD> <path>`: one request to the daemon, with an access token. */
export function createCommand(io: Io) {
  return new Command("api")
    .description("Send one request to the daemon's HTTP API, with the access token added.")
    .argument("<method>", "GET, HEAD, POST, PUT, PATCH or DELETE")
    .argument("<path>", "such as /api/actions?limit=5")
    .option("-d, --data <json>", "the body: JSON, @file or - for standard input")
    .option("-i, --include", "also print the status and the headers")
    .option(...PASSPHRASE_STDIN)
    .option("--scope <scope>", "whose token to use: agent, viewer or reviewer", "reviewer")
    .addHelpText("after", HELP)
    .action(async (method, path, options) => {
      const answer = await send(io, checkMethod(method), checkPath(path), options);
      if (options.include) printHead(io, answer);
      await printBody(io, answer);
      if (!answer.ok) throw new Exit(EXIT.failed);
    });
}

async function send(
  io: Io,
  method: string,
  path: string,
  options: { data?: string | undefined; scope: string } & PassphraseOptions,
): Promise<Response> {
  const scope = Scope.safeParse(options.scope);
  if (!scope.success) {
    const why = "it must be agent, viewer or reviewer";
    throw new CliError(`Cannot use scope "${options.scope}": ${why}`, {
      next: "gate api --help",
      exit: EXIT.usage,
    });
  }
  if (options.passphraseStdin && /^@?-$/.test(options.data ?? "")) throw misused(ONE_INPUT);
  const body = options.data === undefined ? undefined : await readData(io, options.data);
  const prover = new Prover(io, options);
  const { url, fetch, token } = await openConnection(io, { scope: scope.data });
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (method !== "GET" && method !== "HEAD") headers["content-type"] = "application/json";
  const sendProved = scope.data === "reviewer" ? withProof(prover.prove, fetch) : fetch;
  const request = (target: string) => sendProved(`${url}${target}`, { method, headers, body });
  const answer = await request(path);
  const project = answer.status === 400 ? await projectHere(io, answer.clone()) : null;
  if (project === null) return answer;
  return await request(
    `${path}${path.includes("?") ? "&" : "?"}project=${encodeURIComponent(project)}`,
  );
}

/** If the API refuses because no project is named: the id of this folder's project, or null. */
async function projectHere(io: Io, answer: Response): Promise<string | null> {
  const { data } = ProjectRequired.safeParse(await answer.json().catch(() => null));
  const root = data ? findRoot(io) : null;
  if (!data || root === null) return null;
  return data.projects.find(({ roots }) => roots.includes(root))?.id ?? null;
}

const ProjectRequired = z.object({
  code: z.literal("project_required"),
  projects: z.array(z.object({ id: z.string(), roots: z.array(z.string()) })),
});

const ONE_INPUT =
  "Cannot read both the body and the passphrase from standard input: give the body as @file";

function checkMethod(given: string): string {
  const method = given.toUpperCase();
  if (METHODS.includes(method)) return method;
  throw misused(`Cannot send "${given}": it is not a method of the API`);
}

function checkPath(given: string): string {
  if (given.startsWith("/") && !given.startsWith("//")) return given;
  throw misused(`Cannot send to "${given}": a path of the API begins with one "/"`);
}

function misused(message: string): CliError {
  return new CliError(message, { next: "gate api GET /api/daemon/status", exit: EXIT.usage });
}

function printHead(io: Io, answer: Response): void {
  print(io, `HTTP/1.1 ${answer.status} ${answer.statusText}`);
  for (const [name, value] of answer.headers) print(io, visibleLine(`${name}: ${value}`));
  print(io);
}

/** Prints the body while it arrives, so that event streams work; safe to print on a terminal. */
async function printBody(io: Io, answer: Response): Promise<void> {
  const isJson = answer.headers.get("content-type")?.includes("json") === true;
  if (isJson && io.stdout.isTTY) return printJson(io, await answer.json());
  const decoder = new TextDecoder();
  let last = "\n";
  for await (const chunk of answer.body ?? []) {
    const text = decoder.decode(chunk, { stream: true });
    io.stdout.write(io.stdout.isTTY ? visibleText(text) : chunk);
    last = text.at(-1) ?? last;
  }
  if (isJson && last !== "\n") print(io);
}

const HELP = `
Exits with 1 if the answer is an error. A path without ?project= uses the project of this folder.

Examples:
  gate api GET '/api/actions?status=blocked'
  gate api POST /api/policy/test -d '{"path": ".env", "action": "write"}'
  gate api GET /api/events
`;

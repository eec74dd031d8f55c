import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Scope } from "../server/auth/schema.ts";
import {
  bytesOf,
  type CorpusCase,
  misjudged,
  placeholders,
  readCorpus,
  type Words,
} from "./http_corpus.ts";
import { type RawAnswer, requestText, sendRaw } from "./raw_http.ts";

/** A running gate whose home and project are those that the corpus supposes. */
export interface CorpusGate {
  port: number;
  tokens: Record<Exclude<Scope, "viewer">, string>;
  daemon_pid: number;
  parent_pid: number;
  /** The daemon's memory in bytes. */
  rss(): number;
  close(): Promise<void>;
}

/** The `policies` of the project and of the machine. */
export const CORPUS_POLICIES = {
  project: { defaultEffect: "allow", askPaths: ["held/**"], blockedPaths: [".env", ".env.*"] },
  global: { blockedPaths: ["machine-secrets/**"] },
};

let gate: CorpusGate;
let tokens: CorpusGate["tokens"];
let rss = 0;
let bystander: ReturnType<typeof spawn>;

/** Sends every request of the corpus to the gate that `open` starts, and judges the answers. */
export function describeCorpus(open: () => Promise<CorpusGate>, timeout_ms: number): void {
  beforeAll(async () => {
    bystander = spawn("sleep", ["600"]);
    gate = await open();
    tokens = gate.tokens;
    for (const given of cases.filter(({ hold_open_s }) => hold_open_s)) {
      begun.set(given.id, wordsOf(given).then((words) => send(given, words)));
    }
  });

  afterAll(async () => {
    bystander.kill();
    await gate.close();
  });

  const titled = cases.map((given) => [given.id, given.category, given.name, given] as const);
  test.each(titled)("%s %s: %s", async (_id, _category, _name, given) => {
    const words = await wordsOf(given);
    const before = await pendingCount();
    rss = gate.rss();
    const answers = await (begun.get(given.id) ?? send(given, words));
    judge(given, answers);
    for (const name of given.must) await MUST[name]!(answers, given);
    await checkUnharmed(given, words, before);
  }, timeout_ms);
}

// Many readers and slow ones have their own test: events/readers_load.test.ts.
const SEPARATELY = ["h-5c9df78a13", "h-6287434616"];
const cases = readCorpus().filter(({ id }) => !SEPARATELY.includes(id));

/** The slow clients start first and are judged in their turn: they take half a minute. */
const begun = new Map<string, Promise<RawAnswer[]>>();

/** A well-formed request of the test itself. */
async function ask(method: string, path: string, body?: unknown, token = tokens.reviewer) {
  const headers: [string, string][] = [
    ["Host", `127.0.0.1:${gate.port}`],
    ["Authorization", `Bearer ${token}`],
    ...body ? [["Content-Type", "application/json"] as [string, string]] : [],
  ];
  const text = requestText(method, path, headers, body ? JSON.stringify(body) : "");
  const answer = await sendRaw(gate.port, text);
  const isJson = answer.headers["content-type"]?.includes("json");
  return { ...answer, json: isJson ? JSON.parse(answer.body) : null };
}

async function hold(): Promise<string> {
  const path = `held/${crypto.randomUUID()}.txt`;
  const input = { path, content: "SENTINEL" };
  const made = await ask("POST", "/api/actions", { tool: "write_file", input }, tokens.agent);
  expect(made.status, made.body).toBe(202);
  return made.json.id;
}

const MAKERS: Record<string, () => Promise<string> | string> = {
  PORT: () => String(gate.port),
  PENDING: hold,
  APPROVED: async () => await decided("approve"),
  REJECTED: async () => await decided("reject"),
  SESSION: async () => (await ask("POST", "/api/sessions", { agent: "corpus" })).json.id,
  TOKEN: () => tokens.reviewer,
  TOKEN_FLIPPED_LAST: () => tokens.reviewer.replace(/.$/, (last) => last === "A" ? "B" : "A"),
  TOKEN_PREFIX: () => tokens.reviewer.slice(0, 8),
  TOKEN_SWAPCASE: () =>
    tokens.reviewer.replaceAll(
      /[a-z]/gi,
      (c) => c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase(),
    ),
  PAGE_KEY: async () => (await logIn()).key,
  USED_CODE: async () => (await logIn()).code,
  DAEMON_PID: () => String(gate.daemon_pid),
  PARENT_PID: () => String(gate.parent_pid),
  OTHER_USER_PID: () => "1",
  NON_ORPHAN_PID: () => String(bystander.pid),
  RANDOM: () => crypto.randomUUID(),
};

async function decided(verb: "approve" | "reject"): Promise<string> {
  const id = await hold();
  expect((await ask("POST", `/api/actions/${id}/${verb}`, { reason: "x" })).status).toBe(200);
  return id;
}

async function logIn(): Promise<{ code: string; key: string }> {
  const { code } = (await ask("POST", "/api/auth/login-code")).json;
  const { headers } = await ask("GET", `/login?code=${code}`);
  return { code, key: headers["location"]!.replace("/#key=", "") };
}

async function wordsOf(given: CorpusCase): Promise<Words> {
  const words: Words = {};
  for (const name of placeholders(given)) {
    if (name in MAKERS) words[name] = await MAKERS[name]!();
  }
  words.PORT = String(gate.port);
  words.AUTH = await credentialLines(given);
  words.AUTH_LF = words.AUTH.replaceAll("\r\n", "\n");
  return words;
}

async function credentialLines({ auth }: CorpusCase): Promise<string> {
  if (auth === "none") return "";
  if (auth === "page") return `X-Gate-Key: ${(await logIn()).key}\r\n`;
  return `Authorization: Bearer ${auth === "agent" ? tokens.agent : tokens.reviewer}\r\n`;
}

async function pendingCount(): Promise<number> {
  return (await ask("GET", "/api/actions?count=true")).json.count;
}

async function send(given: CorpusCase, words: Words): Promise<RawAnswer[]> {
  const hold_ms = (given.hold_open_s ?? 20) * 1000;
  const one = (target?: string) => sendRaw(gate.port, bytesOf(given, words, target), { hold_ms });
  const times = given.repeat ?? given.parallel ?? 1;
  if (!given.parallel) {
    const answers: RawAnswer[] = [];
    for (let i = 0; i < times; i++) answers.push(await one());
    return answers;
  }
  const targets = Array.from({ length: times }, () => given.target);
  const against = given.against ? targets.map(() => given.against) : [];
  return await Promise.all([...targets, ...against].map(one));
}

const FOREIGN = /evil\.example|set-cookie|x-a:/i;

/** The extra conditions of a case, by the first word of their name. */
const MUST: Record<string, (answers: RawAnswer[], given: CorpusCase) => void | Promise<void>> = {
  no_data: ([answer]) => expect(answer!.body).not.toMatch(/"digest"|"session_id"/),
  no_echo: ([answer]) => expect(answer!.body).not.toMatch(/authorization|bearer/i),
  no_file_leak: ([answer]) =>
    expect(answer!.body).not.toMatch(/root:|"policies"|\[core\]|^[\w-]{43}$/),
  no_header_injection: ([answer]) => expect(JSON.stringify(answer!.headers)).not.toMatch(FOREIGN),
  no_foreign_location: ([answer]) =>
    expect(answer!.headers["location"] ?? "/").toMatch(/^\/(?!\/)/),
  no_acao_for_foreign_origin: ([answer]) =>
    expect(answer!.headers).not.toHaveProperty("access-control-allow-origin"),
  "no_header:Access-Control-Allow-Private-Network": ([answer]) =>
    expect(answer!.headers).not.toHaveProperty("access-control-allow-private-network"),
  "header:X-Content-Type-Options: nosniff": ([answer]) =>
    expect(answer!.headers["x-content-type-options"]).toBe("nosniff"),
  corp_same_origin: ([answer]) =>
    expect(answer!.headers["cross-origin-resource-policy"]).toBe("same-origin"),
  not_javascript: ([answer]) => expect(answer!.headers["content-type"]).toMatch(/json/),
  not_allowed_verdict: ([answer]) => expect(answer!.body).not.toContain('"effect":"allow"'),
  no_other_project_data: ([answer]) => expect(answer!.status).toBe(404),
  rss_growth_under_64mb: () => expect(gate.rss() - rss).toBeLessThan(64 * 1024 ** 2),
  bounded_result: ([answer]) => expect(answer!.body.length).toBeLessThan(100_000),
  "429_seen_by_end": (answers) => expect(answers.at(-1)!.status).toBe(429),
  closed_within_65s: ([answer]) => expect(answer!.ms).toBeLessThan(65_000),
  global_rules_still_enforced: async () => {
    const body = { path: "machine-secrets/a", action: "write_file" };
    expect((await ask("POST", "/api/policy/test", body)).body).toContain('"deny"');
  },
  process_still_alive: () => {
    for (const pid of [gate.daemon_pid, gate.parent_pid, bystander.pid!]) process.kill(pid, 0);
  },
};

function judge(given: CorpusCase, answers: RawAnswer[]): void {
  if (given.expect.exactly_one_2xx) {
    const won = answers.filter((answer) => answer.status < 300);
    expect(won).toHaveLength(1);
    const lost = answers.filter((answer) => !won.includes(answer)).map((answer) => answer.status);
    expect(new Set(lost)).toEqual(new Set(given.expect.losers));
    return;
  }
  for (const { status, headers, body } of answers) {
    const isPage = headers["content-type"]?.startsWith("text/html") ?? false;
    expect(misjudged(given, status, isPage), body.slice(0, 500)).toBeNull();
    expect(status, body).toBeLessThan(500);
  }
}

async function checkUnharmed(given: CorpusCase, words: Words, before: number): Promise<void> {
  const health = await ask("GET", "/healthz", undefined, "");
  expect(health.ms).toBeLessThan(1_000);
  if (given.decides || given.expect.class === "2xx" || given.expect.exactly_one_2xx) return;
  expect(await pendingCount()).toBe(before);
  if (!words.PENDING) return;
  expect((await ask("GET", `/api/actions/${words.PENDING}/status`)).json.status).toBe("pending");
}

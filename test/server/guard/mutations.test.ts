import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Credentials } from "../../../server/auth/credentials.ts";
import { PageKeys } from "../../../server/auth/login.ts";
import { openTokens, type Tokens } from "../../../server/auth/tokens.ts";
import { createGuard } from "../../../server/guard.ts";
import { problemResponse, secure } from "../../../server/guard/response.ts";
import { type Listening, serve } from "../../../server/runtime/serve.ts";
import { requestText, sendRaw } from "../../raw_http.ts";

type Line = [name: string, value: string];

let home: string;
let tokens: Tokens;
let listening: Listening;
let accepted = 0;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "gate-"));
  tokens = await openTokens(home);
  const environment = { home, now: Date.now, id: () => crypto.randomUUID(), log: () => {} };
  const router = {
    fetch() {
      accepted += 1;
      return new Response("{}");
    },
  };
  const keys = new PageKeys(environment);
  listening = await serve({
    port: 0,
    socket_path: null,
    handler: createGuard(router, new Credentials(tokens, keys), { keys, log: () => {} }),
    refuse: (error) => secure(problemResponse(error), "/api"),
  });
});

afterAll(async () => {
  await listening.close(0);
  rmSync(home, { recursive: true });
});

function good(): Line[] {
  return [
    ["Host", `127.0.0.1:${listening.port}`],
    ["Authorization", `Bearer ${tokens.reviewer}`],
    ["Content-Type", "application/json"],
  ];
}

const NAMES = [
  "Authorization",
  "authorization",
  "X-Gate-Key",
  "Cookie",
  "Proxy-Authorization",
  "X-Authorization",
  "Host",
  "X-Forwarded-Host",
  "Forwarded",
  "Origin",
  "Sec-Fetch-Site",
  "Content-Type",
  "X-HTTP-Method-Override",
  "Connection",
  "Transfer-Encoding",
  "X-Original-URL",
];

const name = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/),
);

/** Header values derived from valid ones, so that many are nearly right. */
const value = fc.tuple(
  fc.constantFrom("", "Bearer ", "bearer ", "Bearer  ", "Basic ", "Bearer x, Bearer ", "gate="),
  fc.constantFrom("reviewer", "agent", "none", "close", "application/json", "text/plain"),
  fc.constantFrom(
    (text: string) => text,
    (text: string) => text.slice(0, -1),
    (text: string) => `${text}x`,
    (text: string) => text.toUpperCase(),
    (text: string) => ` ${text}\t`,
    (text: string) => `"${text}"`,
    (text: string) => `${text}, ${text}`,
    (text: string) => `${text}\u00ff`,
    (text: string) => text.replaceAll(/./g, "A"),
  ),
);

const mutation = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), at: fc.nat(4), name, value }),
  fc.record({ kind: fc.constant("remove" as const), at: fc.nat(4) }),
  fc.record({ kind: fc.constant("rename" as const), at: fc.nat(4), name }),
  fc.record({ kind: fc.constant("change" as const), at: fc.nat(4), value }),
  fc.record({ kind: fc.constant("double" as const), at: fc.nat(4) }),
);
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;
type Value = typeof value extends fc.Arbitrary<infer T> ? T : never;

function textOf([prefix, word, change]: Value): string {
  const secret = word === "reviewer" || word === "agent" ? tokens[word] : word;
  return change(prefix + secret);
}

function mutate(lines: Line[], given: Mutation): void {
  const at = Math.min(given.at, Math.max(0, lines.length - 1));
  const line = lines[at];
  if (given.kind === "add") lines.splice(at, 0, [given.name, textOf(given.value)]);
  if (!line) return;
  if (given.kind === "remove") lines.splice(at, 1);
  if (given.kind === "rename") lines[at] = [given.name, line[1]];
  if (given.kind === "change") lines[at] = [line[0], textOf(given.value)];
  if (given.kind === "double") lines.splice(at, 0, [...line]);
}

/** Whether the guard must accept the request, by a second, independent definition. */
function isEntitled(lines: Line[]): boolean {
  const values = (name: string) =>
    lines.filter((line) => line[0].toLowerCase() === name).map((line) => line[1].trim());
  return values("host").join() === `127.0.0.1:${listening.port}` &&
    values("authorization").join() === `Bearer ${tokens.reviewer}` &&
    values("x-gate-key").length === 0;
}

test("the guard accepts none of 1,000 mutated requests without exactly one valid credential", async () => {
  let entitled = 0;
  const property = fc.asyncProperty(
    fc.array(mutation, { minLength: 1, maxLength: 4 }),
    fc.constantFrom("", "?token=", "?key=", "?access_token="),
    async (mutations, query) => {
      const lines = good();
      for (const one of mutations) mutate(lines, one);
      const before = accepted;
      const target = `/api/actions/x/approve${query}${query && tokens.reviewer}`;
      const answer = await sendRaw(
        listening.port,
        requestText("POST", target, lines, "{}"),
        { hold_ms: 2_000 },
      );
      if (isEntitled(lines)) entitled += 1;
      else expect(accepted, JSON.stringify(lines)).toBe(before);
      if (accepted === before) expect(answer.status === 0 || answer.status >= 400).toBe(true);
      expect(answer.status).toBeLessThan(500);
    },
  );
  await fc.assert(property, { numRuns: 1_000 });
  expect(accepted).toBeGreaterThan(50);
  expect(entitled).toBeLessThan(900);
});

import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LoginCodes } from "../../../server/auth/login.ts";
import { PageKeys } from "../../../server/auth/page_keys.ts";
import { openTokens, readToken } from "../../../server/auth/tokens.ts";

let home: string;
let time = 0;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "gate-"));
  time = 1_000_000;
  await mkdir(join(home, "tokens"), { mode: 0o700 });
});

afterEach(async () => await rm(home, { recursive: true }));

function environment() {
  return { home, now: () => time, id: () => crypto.randomUUID(), log: () => {} };
}

test("tokens are made once, kept private, and differ by scope", async () => {
  const tokens = await openTokens(home);
  expect(new Set(Object.values(tokens)).size).toBe(3);
  expect(await openTokens(home)).toEqual(tokens);
  for (const scope of ["agent", "viewer", "reviewer"] as const) {
    expect((await stat(join(home, "tokens", scope))).mode & 0o777).toBe(0o600);
    expect(tokens[scope]).toMatch(/^[\w-]{43}$/);
  }
});

test("a token that others can read is refused, with the way out", async () => {
  await openTokens(home);
  await chmod(join(home, "tokens", "reviewer"), 0o640);
  await expect(openTokens(home)).rejects.toThrow(/others can read it. Delete it/);
});

test("a token that is a link, or damaged, is refused", async () => {
  await openTokens(home);
  await rm(join(home, "tokens", "agent"));
  await symlink(join(home, "tokens", "reviewer"), join(home, "tokens", "agent"));
  await expect(readToken(home, "agent")).rejects.toThrow(
    /Cannot use the token .* is damaged. Delete it/,
  );
  await writeFile(join(home, "tokens", "viewer"), "short\n");
  await expect(readToken(home, "viewer")).rejects.toThrow(/damaged/);
});

test("a page key is good for twelve hours, over a restart too, and kept as a digest", async () => {
  const keys = new PageKeys(environment());
  const key = await keys.create();
  const again = new PageKeys(environment());
  await again.load();
  expect(await readFile(join(home, "tokens", "page_keys.json"), "utf8")).not.toContain(key);
  expect(again.has(key)).toBe(true);
  expect(again.has(key.toLowerCase())).toBe(false);
  expect(again.has(`${key}x`)).toBe(false);
  time += 12 * 3_600_000;
  expect(again.has(key)).toBe(false);
});

test("damaged page keys only mean logging in again", async () => {
  const keys = new PageKeys(environment());
  const key = await keys.create();
  await writeFile(join(home, "tokens", "page_keys.json"), "{");
  const again = new PageKeys(environment());
  await again.load();
  expect(again.has(key)).toBe(false);
});

test("a code works once and for a minute", () => {
  const codes = new LoginCodes(environment());
  const { code } = codes.create();
  codes.use(code);
  expect(() => codes.use(code)).toThrow(/used already/);
  const late = codes.create().code;
  time += 60_000;
  expect(() => codes.use(late)).toThrow(/too old/);
});

test("five wrong codes bring a pause, which keeps nobody out who has a right one", () => {
  const codes = new LoginCodes(environment());
  const guess = () => {
    try {
      codes.use("wrong");
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  expect([1, 2, 3, 4, 5, 6].map(guess)).toEqual([
    ...Array(5).fill("unauthorized"),
    "rate_limited",
  ]);
  codes.use(codes.create().code);
  time += 60_001;
  expect(guess()).toBe("unauthorized");
});

test("codes that nobody uses do not pile up", () => {
  const codes = new LoginCodes(environment());
  const first = codes.create().code;
  const later = Array.from({ length: 32 }, () => codes.create().code);
  expect(() => codes.use(first)).toThrow();
  codes.use(later[0]!);
});

import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Credentials } from "../../../server/auth/credentials.ts";
import { LoginCodes, PageKeys, removeKeyFile } from "../../../server/auth/login.ts";
import { createChallenge } from "../../../server/auth/prove_daemon.ts";
import { openTokens, readOwners, readToken } from "../../../server/auth/tokens.ts";

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

test("openTokens() creates one private token per scope and keeps it", async () => {
  const tokens = await openTokens(home);
  expect(new Set(Object.values(tokens)).size).toBe(3);
  expect(await openTokens(home)).toEqual(tokens);
  for (const scope of ["agent", "viewer", "reviewer"] as const) {
    expect((await stat(join(home, "tokens", scope))).mode & 0o777).toBe(0o600);
    expect(tokens[scope]).toMatch(/^[\w-]{43}$/);
  }
});

test("a token that others can read is refused with the next step", async () => {
  await openTokens(home);
  await chmod(join(home, "tokens", "reviewer"), 0o640);
  await expect(openTokens(home)).rejects.toThrow(/others can read it. Delete it/);
});

test("a token that is a link or damaged is refused", async () => {
  await openTokens(home);
  await rm(join(home, "tokens", "agent"));
  await symlink(join(home, "tokens", "reviewer"), join(home, "tokens", "agent"));
  await expect(readToken(home, "agent")).rejects.toThrow(
    /Cannot use the token .* is damaged. Delete it/,
  );
  await writeFile(join(home, "tokens", "viewer"), "short\n");
  await expect(readToken(home, "viewer")).rejects.toThrow(/damaged/);
});

test("a page key is valid for 12 hours, for its holder, and no file keeps it", async () => {
  const keys = new PageKeys(environment());
  const key = keys.create("ada");
  expect(keys.holderOf(key)).toBe("ada");
  expect(keys.holderOf(key.toLowerCase())).toBe(null);
  expect(keys.holderOf(`${key}x`)).toBe(null);
  expect(new PageKeys(environment()).holderOf(key)).toBe(null);
  expect(await readdir(join(home, "tokens"))).toEqual([]);
  time += 12 * 3_600_000;
  expect(keys.holderOf(key)).toBe(null);
  expect(await keys.digestOf((await createChallenge(key)).key_id)).toBe(null);
});

test("after its end no key is valid, and nothing is said about any", async () => {
  const keys = new PageKeys(environment());
  const key = keys.create("ada");
  const { key_id } = await createChallenge(key);
  expect(await keys.digestOf(key_id)).not.toBe(null);
  keys.end();
  expect(keys.holderOf(key)).toBe(null);
  expect(keys.holderOf(keys.create("ada"))).toBe(null);
  await expect(keys.digestOf(key_id)).rejects.toMatchObject({ code: "unavailable" });
});

test("at most 64 page keys are kept, the newest ones", () => {
  const keys = new PageKeys(environment());
  const all = Array.from({ length: 65 }, () => keys.create("ada"));
  expect(all.filter((key) => keys.holderOf(key) === null)).toEqual([all[0]]);
});

test("the key file of an older version is removed", async () => {
  const file = join(home, "tokens", "page_keys.json");
  await writeFile(file, "[]");
  await removeKeyFile(home);
  await removeKeyFile(home);
  expect(await readdir(join(home, "tokens"))).toEqual([]);
});

test("a login code is valid once and for one minute", () => {
  const codes = new LoginCodes(environment());
  const { code } = codes.create("ada");
  expect(codes.use(code)).toBe("ada");
  expect(() => codes.use(code)).toThrow(/used already/);
  const late = codes.create("ada").code;
  time += 60_000;
  expect(() => codes.use(late)).toThrow(/has expired/);
});

test("five wrong codes cause a pause of a minute in which a right code still works", () => {
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
  codes.use(codes.create("ada").code);
  time += 60_001;
  expect(guess()).toBe("unauthorized");
});

test("at most 32 unused codes are kept", () => {
  const codes = new LoginCodes(environment());
  const first = codes.create("ada").code;
  const later = Array.from({ length: 32 }, () => codes.create("ada").code);
  expect(() => codes.use(first)).toThrow();
  codes.use(later[0]!);
});

test("a credential identifies the sole person, or the person named in its file", async () => {
  const tokens = await openTokens(home);
  const keys = new PageKeys(environment());
  const bearer = (token: string): [string, string][] => [["authorization", `Bearer ${token}`]];
  const sole = new Credentials(tokens, keys, { owners: readOwners(home) });
  expect(sole.identify(bearer(tokens.agent))).toMatchObject({ id: "agent", member_id: null });
  expect(sole.identify(bearer(tokens.viewer))).toMatchObject({
    id: "viewer",
    member_id: "reviewer",
  });
  const reviewer = { scope: "reviewer", id: "reviewer", member_id: "reviewer" };
  expect(sole.identify(bearer(tokens.reviewer))).toEqual({
    ...reviewer,
    via: "token",
    proof: null,
  });
  await writeFile(join(home, "tokens", "reviewer"), `${tokens.reviewer} ada\n`);
  expect(await openTokens(home)).toEqual(tokens);
  const team = new Credentials(tokens, keys, { owners: readOwners(home) });
  expect(team.identify(bearer(tokens.reviewer))).toMatchObject({ id: "ada", member_id: "ada" });
  const key = keys.create("grace");
  expect(team.identify([["x-gate-key", key]])).toMatchObject({ id: "grace", via: "page" });
});

test("where none is needed, a reviewer's credential asks for no proof either; an agent stays one", async () => {
  const tokens = await openTokens(home);
  const keys = new PageKeys(environment());
  const open = new Credentials(tokens, keys, { open: true });
  const bearer = (token: string): [string, string][] => [["authorization", `Bearer ${token}`]];
  expect(open.identify([])).toMatchObject({ scope: "reviewer", via: "none" });
  expect(open.identify(bearer(tokens.reviewer))).toMatchObject({ id: "reviewer", via: "none" });
  expect(open.identify([["x-gate-key", keys.create("grace")]])).toMatchObject({ via: "none" });
  expect(open.identify(bearer(tokens.agent))).toMatchObject({ scope: "agent", via: "token" });
  expect(() => open.identify(bearer("wrong"))).toThrow("not valid");
});

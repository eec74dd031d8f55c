import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SPEAK } from "../../server/hooks/stage.ts";
import { createHookStage, heldAnswer, http, type Say, TOKEN } from "./stage.ts";

let stage: ReturnType<typeof createHookStage>;
beforeEach(() => void (stage = createHookStage()));
afterEach(() => stage.close());

const at = { cwd: "/p", key: "k" };
const CALL = SPEAK["claude-code"]!.before("Bash", { command: "ls" }, at);

const hook = (input: unknown = CALL, env = {}) => stage.hook("claude-code", input, { env });

const reasonOf = async (answer: Promise<string>, host = "claude-code") =>
  SPEAK[host]!.reason(JSON.parse(await answer));

test("what the daemon says is passed on, over the socket, with the agent's token", async () => {
  await stage.daemon(() => http("{}"));
  expect(await hook(CALL, { CLAUDE_PROJECT_DIR: "/my project" })).toBe("{}");
  const [request] = stage.asked;
  expect(request).toMatch(
    /^POST \/api\/hooks\/claude-code\?wait_ms=200&project_dir=%2Fmy%20project HTTP\/1\.1\r\n/,
  );
  expect(request).toContain(`Authorization: Bearer ${TOKEN}\r\n`);
  expect(JSON.parse(request!.split("\r\n\r\n")[1]!)).toEqual(CALL);
});

test("an answer in chunks is put together", async () => {
  await stage.daemon(() =>
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
  );
  expect(await hook()).toBe("{}");
});

test("held: it asks again until a person has decided", async () => {
  await stage.daemon((_request, nth) => nth < 3 ? heldAnswer("claude-code") : http("{}"));
  expect(await hook()).toBe("{}");
  expect(stage.asked).toHaveLength(3);
  expect(new Set(stage.asked.map((one) => one.split("\r\n\r\n")[1])).size).toBe(1);
});

const WRONG: [string, Say, RegExp][] = [
  ["hangs", () => null, /does not answer/],
  ["is not what it should be", () => "SSH-2.0-OpenSSH\r\n\r\n", /not HTTP/],
  ["says garbage", () => http("<html>"), /not JSON/],
  ["says what no host understands", () => http('{"decision":"approve"}'), /cannot be understood/],
  ["says a list", () => http("[]"), /not a JSON object/],
  ["is cut off", () => http("{}").slice(0, -1), /cut off|not HTTP/],
  ["says nothing and goes", () => "", /not HTTP/],
  [
    "never stops",
    () => `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(5_000_000)}`,
    /too long|does not answer/,
  ],
  ["refuses the token", () => http('{"detail":"wrong token"}', { status: 401 }), /wrong token/],
  ["is broken", () => http('{"detail":"no"}', { status: 500 }), /cannot judge it: no/],
];

describe.each(Object.keys(SPEAK))("%s: it refuses where the daemon", (host) => {
  const { command, before, after } = SPEAK[host]!;

  test.each(WRONG)("%s", async (_what, say, why) => {
    await stage.daemon(say);
    const reason = await reasonOf(stage.hook(host, before(command, { command: "ls" }, at)), host);
    expect(reason).toMatch(why);
    expect(reason).toMatch(/^Blocked by gate: /);
  });

  test("cannot be started", async () => {
    rmSync(stage.home, { recursive: true });
    writeFileSync(stage.home, "no folder");
    const reason = await reasonOf(stage.hook(host, before(command, { command: "ls" }, at)), host);
    expect(reason).toMatch(/^Blocked by gate: /);
  });

  test("hangs, but not what has happened already", async () => {
    await stage.daemon(() => null);
    expect(await stage.hook(host, after(command, { command: "ls" }, at))).toBe("{}");
  });
});

test("a token that others can read is not sent", async () => {
  await stage.daemon(() => http("{}"));
  rmSync(join(stage.home, "tokens", "agent"));
  writeFileSync(join(stage.home, "tokens", "agent"), `${TOKEN}\n`, { mode: 0o644 });
  expect(await reasonOf(hook())).toMatch(/^Blocked by gate: /);
  expect(stage.asked.join()).not.toContain(TOKEN);
});

test.each([
  ["no JSON", "garbage", /not JSON/],
  ["a list", "[]", /not a JSON object/],
  ["nothing", "", /not JSON/],
  ["no event", {}, /hook_event_name/],
  ["no tool", { hook_event_name: "PreToolUse" }, /tool_name/],
])("input that is %s is refused, and nobody is asked", async (_what, input, why) => {
  await stage.daemon(() => http("{}"));
  expect(await reasonOf(hook(input))).toMatch(why);
  expect(stage.asked).toEqual([]);
});

test("an event that gate has no part in goes on, and nobody is asked", async () => {
  await stage.daemon(() => http("{}"));
  expect(await hook({ ...CALL, hook_event_name: "Stop" })).toBe("{}");
  expect(stage.asked).toEqual([]);
});

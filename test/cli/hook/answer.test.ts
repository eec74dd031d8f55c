import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SPEAK } from "../../server/hooks/stage.ts";
import { createHookStage, heldAnswer, http, type Respond, TOKEN } from "./stage.ts";

let stage: ReturnType<typeof createHookStage>;
beforeEach(() => void (stage = createHookStage()));
afterEach(() => stage.close());

const at = { cwd: "/p", key: "k" };
const CALL = SPEAK["claude-code"]!.before("Bash", { command: "ls" }, at);

const hook = (input: unknown = CALL, env = {}) => stage.hook("claude-code", input, { env });

const reasonOf = async (answer: Promise<string>, host = "claude-code") =>
  SPEAK[host]!.reason(JSON.parse(await answer));

test("the hook sends the call and the agent's token over the socket, and prints the response", async () => {
  await stage.daemon(() => http("{}"));
  expect(await hook(CALL, { CLAUDE_PROJECT_DIR: "/my project" })).toBe("{}");
  const [request] = stage.requests;
  expect(request).toMatch(
    /^POST \/api\/hooks\/claude-code\?wait_ms=200&project_dir=%2Fmy%20project HTTP\/1\.1\r\n/,
  );
  expect(request).toContain(`Authorization: Bearer ${TOKEN}\r\n`);
  expect(JSON.parse(request!.split("\r\n\r\n")[1]!)).toEqual(CALL);
});

test("the hook reads a chunked response", async () => {
  await stage.daemon(() =>
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
  );
  expect(await hook()).toBe("{}");
});

test("the hook does not wait until the daemon closes the connection", async () => {
  await stage.daemon((_request, _nth, socket) => {
    socket.write(http("{}"));
    return null;
  });
  expect(await hook()).toBe("{}");
});

test("a first answer that was asked for earlier is judged like any other", async () => {
  await stage.daemon(() => http("{}"));
  const first = (body: string) =>
    Promise.resolve({ status: 200, headers: new Map<string, string>(), body });
  const asked = (body: string) => stage.hook("claude-code", CALL, { first: () => first(body) });
  expect(await asked("{}")).toBe("{}");
  expect(await reasonOf(asked('{"decision":"approve"}'))).toMatch(/cannot be understood/);
  expect(stage.requests).toEqual([]);
  const lost = Promise.reject(new Error("lost"));
  expect(await stage.hook("claude-code", CALL, { first: () => lost })).toBe("{}");
  expect(stage.requests).toHaveLength(1);
});

test("the hook repeats the request for a held call until a person decides", async () => {
  await stage.daemon((_request, nth) => nth < 3 ? heldAnswer("claude-code") : http("{}"));
  expect(await hook()).toBe("{}");
  expect(stage.requests).toHaveLength(3);
  expect(new Set(stage.requests.map((one) => one.split("\r\n\r\n")[1])).size).toBe(1);
});

const WRONG: [string, Respond, RegExp][] = [
  ["hangs", () => null, /does not answer/],
  ["is not an HTTP server", () => "SSH-2.0-OpenSSH\r\n\r\n", /not HTTP/],
  ["answers without JSON", () => http("<html>"), /not JSON/],
  [
    "answers JSON that is not a decision",
    () => http('{"decision":"approve"}'),
    /cannot be understood/,
  ],
  ["answers a JSON list", () => http("[]"), /not a JSON object/],
  ["ends its answer early", () => http("{}").slice(0, -1), /cut off|not HTTP/],
  ["closes without an answer", () => "", /not HTTP/],
  [
    "answers too much",
    () => `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(5_000_000)}`,
    /too long|does not answer/,
  ],
  ["refuses the token", () => http('{"detail":"wrong token"}', { status: 401 }), /wrong token/],
  ["answers 500", () => http('{"detail":"no"}', { status: 500 }), /cannot judge it: no/],
];

describe.each(Object.keys(SPEAK))("%s: the hook refuses a call when the daemon", (host) => {
  const { command, before, after } = SPEAK[host]!;

  test.each(WRONG)("%s", async (_title, respond, why) => {
    await stage.daemon(respond);
    const reason = await reasonOf(stage.hook(host, before(command, { command: "ls" }, at)), host);
    expect(reason).toMatch(why);
    expect(reason).toMatch(/^Blocked by gate: /);
  });

  test("cannot start", async () => {
    rmSync(stage.home, { recursive: true });
    writeFileSync(stage.home, "no folder");
    const reason = await reasonOf(stage.hook(host, before(command, { command: "ls" }, at)), host);
    expect(reason).toMatch(/^Blocked by gate: /);
  });

  test("hangs, but accepts a finished call", async () => {
    await stage.daemon(() => null);
    expect(await stage.hook(host, after(command, { command: "ls" }, at))).toBe("{}");
  });
});

test("the hook does not send a token that other users can read", async () => {
  await stage.daemon(() => http("{}"));
  rmSync(join(stage.home, "tokens", "agent"));
  writeFileSync(join(stage.home, "tokens", "agent"), `${TOKEN}\n`, { mode: 0o644 });
  expect(await reasonOf(hook())).toMatch(/^Blocked by gate: /);
  expect(stage.requests.join()).not.toContain(TOKEN);
});

test.each([
  ["not JSON", "garbage", /not JSON/],
  ["a list", "[]", /not a JSON object/],
  ["empty", "", /not JSON/],
  ["without an event", {}, /hook_event_name/],
  ["without a tool", { hook_event_name: "PreToolUse" }, /tool_name/],
])("input that is %s is refused without a request", async (_title, input, why) => {
  await stage.daemon(() => http("{}"));
  expect(await reasonOf(hook(input))).toMatch(why);
  expect(stage.requests).toEqual([]);
});

test("an event that gate does not handle continues without a request", async () => {
  await stage.daemon(() => http("{}"));
  expect(await hook({ ...CALL, hook_event_name: "Stop" })).toBe("{}");
  expect(stage.requests).toEqual([]);
});

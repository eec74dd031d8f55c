import { once } from "node:events";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createChallenge, isProved } from "../../../server/auth/prove_daemon.ts";
import { must, until, World } from "../../e2e/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.create("Deno" in globalThis ? "deno" : "node");
  must(await world.run(["init", "--yes", "--id", "web"]));
});
afterEach(() => world.close());

test("gate start serves the project alone until a daemon starts, then forwards to it", async () => {
  const server = world.spawn(["start"]);
  let printed = "";
  server.stdout!.on("data", (chunk) => printed += chunk);
  server.stderr!.on("data", (chunk) => printed += chunk);
  const url = await until("gate start serves alone", () => {
    return /serves web by itself: http:\/\/localhost:(\d+)/.exec(printed)?.[1];
  }).then((port) => `http://127.0.0.1:${port}`);
  const token = await world.token("reviewer");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const config = () => fetch(`${url}/api/config`, { headers });
  expect(await (await config()).json()).toMatchObject({ project_id: "web" });
  const alone = await (await fetch(`${url}/api/daemon/status`, { headers })).json();
  expect(alone).toMatchObject({ pid: server.pid, port: Number(new URL(url).port) });

  must(await world.run(["daemon", "start"]));
  await until("gate start uses the daemon", () => printed.includes("web through the daemon"));
  const daemon = await world.daemonPid();
  expect(daemon).not.toBe(server.pid);
  const through = await fetch(`${url}/api/daemon/status`, { headers });
  expect(await through.json()).toMatchObject({ pid: daemon, port: world.port });
  expect(through.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await (await config()).json()).toMatchObject({ project_id: "web" });
  const tested = await fetch(`${url}/api/policy/test`, {
    method: "POST",
    headers,
    body: JSON.stringify({ path: ".env", action: "write" }),
  });
  expect(await tested.json()).toMatchObject({ effect: "deny" });
  const link = printed.match(/http:\S+login\?code=\S+/g)!.at(-1)!.replace("localhost", "127.0.0.1");
  const login = await fetch(link, { redirect: "manual" });
  const key = /^\/#key=([\w-]{43})$/.exec(login.headers.get("location")!)![1]!;
  const byKey = (base: string) =>
    fetch(`${base}/api/daemon/status`, { headers: { "x-gate-key": key } });
  expect((await byKey(url)).status).toBe(200);
  // The key belongs to this port alone, so that it ends with this process.
  expect((await byKey(`http://127.0.0.1:${world.port}`)).status).toBe(401);
  const challenge = await createChallenge(key);
  const prove = (base: string) =>
    fetch(`${base}/api/auth/prove-daemon`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(challenge),
    });
  expect(await isProved(key, challenge, url, await (await prove(url)).json())).toBe(true);
  expect((await prove(`http://127.0.0.1:${world.port}`)).status).toBe(404);

  // gate start itself must check the origin, because the daemon does not see this port.
  const refused = await Promise.all([
    fetch(`${url}/api/config`, { headers: { ...headers, origin: "http://evil.example" } }),
    fetch(`${url}/api/config`, {
      headers: { ...headers, origin: `http://localhost:${world.port}` },
    }),
    fetch(`${url}/api/config`, { headers: { ...headers, "sec-fetch-site": "cross-site" } }),
    fetch(`${url}/api/config`),
  ]);
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 401]);

  must(await world.run(["daemon", "stop"]));
  expect(await (await config()).json()).toMatchObject({ status: 503, code: "unavailable" });
  process.kill(server.pid!, "SIGINT");
  expect(await once(server, "exit")).toEqual([0, null]);
});

test("gate start outside a project suggests gate init", async () => {
  const { code, stderr } = await world.run(["start"], { cwd: world.folder });
  expect(code).toBe(1);
  expect(stderr).toContain("try: gate init");
});

// On Deno the parent learns only which signal it sent, not how the process ended.
test.skipIf("Deno" in globalThis).each(["by itself", "through the daemon"])(
  "a signal that comes with the first line ends gate start %s in order",
  async (how) => {
    if (how === "through the daemon") must(await world.run(["daemon", "start"]));
    const server = world.spawn(["start"]);
    const [line] = await once(server.stdout!, "data");
    server.kill("SIGINT");
    expect(await once(server, "exit")).toEqual([0, null]);
    expect(String(line)).toContain(`gate serves web ${how}`);
  },
);

import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openReceiver, SECRET } from "../../server/notifications/stage.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
let home: string;
let key: string;

beforeAll(async () => {
  gated = await openGatedProject();
  home = join(gated.terminal.folder, ".gate");
  key = join(home, "hook.key");
  writeFileSync(key, SECRET);
  chmodSync(key, 0o600);
});

afterAll(() => gated.close());

test("a receiver is added, tested, shown and removed; a failed message is listed and sent again", async () => {
  const server = await openReceiver();
  expect((await gated.good("notify", "list")).stdout).toContain("nothing leaves this machine");
  const added = await gated.good(
    ...["notify", "add", "webhook", "ops", "--url", `${server.url}/a`, "--secret-file", key],
    ...["--on", "held", "block"],
  );
  expect(added.stdout).toContain("added: ops");
  expect((await gated.good("notify", "list")).stdout).toMatch(
    /ops {2}webhook, 127\.0\.0\.1:\d+: held, block/,
  );
  expect(await gated.json("notify", "list", "--json")).toMatchObject({
    receivers: [{ id: "ops", problem: null }],
    waits: false,
  });
  const config = JSON.parse(readFileSync(join(home, "config.json"), "utf8"));
  expect(config.notifications.receivers).toEqual([{
    id: "ops",
    kind: "webhook",
    on: ["held", "block"],
    url: `${server.url}/a`,
    secret_file: key,
  }]);
  expect((await gated.good("notify", "test", "ops")).stdout).toMatch(/✓ ops: sent in \d+ ms/);
  new Webhook(SECRET).verify(server.received[0]!.text, server.received[0]!.headers);

  server.answer = (_, response) => response.writeHead(410).end();
  const failed = await gated.terminal.run(["notify", "test"]);
  expect([failed.code, failed.stdout]).toEqual([
    1,
    expect.stringContaining("answers with status 410"),
  ]);
  const { id } = await gated.write("a.txt", "text");
  await server.until(3);
  await expect.poll(() => gated.json("notify", "failed", "--json")).toMatchObject([{
    action_id: id,
    attempts: 1,
  }]);
  expect((await gated.good("notify", "failed")).stdout).toContain("it answers with status 410");
  server.answer = (_, response) => response.writeHead(200).end();
  expect((await gated.good("notify", "retry", "--all")).stdout).toContain("1 message");
  await server.until(4);
  await expect.poll(() => gated.json("notify", "failed", "--state", "sent", "--json"))
    .toMatchObject([{ action_id: id }]);
  const [{ id: message }] = await gated.json("notify", "failed", "--state", "sent", "--json");
  expect((await gated.good("notify", "discard", message)).stdout).toContain("discarded");
  await gated.good("notify", "remove", "ops");
  expect(await gated.json("notify", "list", "--json")).toEqual({ receivers: [], waits: false });
});

test.each([
  [["notify", "add", "pigeon", "x"], 64, "one of webhook, slack"],
  [
    ["notify", "add", "webhook", "x", "--url", "http://example.com"],
    64,
    "must begin with https://",
  ],
  [["notify", "add", "webhook", "x", "--url", "https://example.com"], 64, "each message is signed"],
  [["notify", "add", "slack", "x"], 64, "the address is a secret"],
  [["notify", "add", "slack", "x", "--url", "https://example.com"], 64, "url"],
  [["notify", "add", "email", "x", "--smtp", "a.example"], 64, "from"],
  [["notify", "add", "desktop", "X y"], 64, "lowercase letters"],
  [["notify", "add", "desktop", "x", "--on", "all"], 64, "Allowed choices"],
  [["notify", "remove", "x"], 1, 'Cannot find receiver "x"'],
  [["notify", "test", "x"], 1, 'Cannot find receiver "x"'],
  [["notify", "test"], 1, "no receiver is configured"],
  [["notify", "retry"], 64, "give exactly one"],
  [["notify", "retry", "msg_x"], 1, 'Cannot find message "msg_x"'],
  [["notify", "discard", "msg_x"], 1, 'Cannot find message "msg_x"'],
  [["notify", "failed", "--limit", "0"], 64, "whole number"],
])("gate %j is refused", async (args, code, part) => {
  const ended = await gated.terminal.run(args);
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(part)]);
});

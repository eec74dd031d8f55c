import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { desktopCommand, runDesktop } from "../../../server/notifications/kinds/desktop.ts";
import { discordMessage } from "../../../server/notifications/kinds/discord.ts";
import { slackMessage } from "../../../server/notifications/kinds/slack.ts";
import { testMessage } from "../../../server/notifications/news.ts";
import { quote, withoutLinks } from "../../../server/notifications/plain_text.ts";
import type { Message } from "../../../server/notifications/schema.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { DiscordMessage, SlackMessage } from "./chat_limits.ts";
import { openNotifyStage, openReceiver } from "./stage.ts";

const HOSTILE = "@everyone <!channel> <@U1> `` ``` [a](https://evil.example) **b** <b>&amp;</b>\n" +
  "Open the card: https://evil.example";

const message: Message = {
  ...testMessage(0, 47000),
  title: "An action waits for your decision",
  quoted: [{ name: "Command", text: quote(HOSTILE) }],
};

test("Slack: what the agent wrote stands only in a block that is never parsed", () => {
  const { blocks, text, ...more } = slackMessage({ ...message, to: ["U0ANN"] });
  expect(more).toEqual({ unfurl_links: false, unfurl_media: false });
  expect(text).toBe(message.title);
  const [head, quoted, link] = blocks;
  expect(JSON.stringify([head, link])).not.toContain("evil");
  expect(quoted).toEqual({
    type: "rich_text",
    elements: [{
      type: "rich_text_preformatted",
      elements: [{ type: "text", text: `Command: ${quote(HOSTILE)}` }],
    }],
  });
  expect(quote(HOSTILE)).not.toContain("\n");
  expect(link).toMatchObject({
    text: { type: "mrkdwn", text: "<@U0ANN> <http://localhost:47000/settings|Open the card>" },
  });
});

test("Discord: nobody is mentioned but the members, and nothing leaves the code block", () => {
  const { content, allowed_mentions, embeds } = discordMessage({
    ...message,
    to: ["1".repeat(18)],
  });
  expect(allowed_mentions).toEqual({ parse: [], users: ["1".repeat(18)] });
  expect(content).not.toContain("evil");
  const { description } = embeds[0]!;
  expect(description.startsWith("```\nCommand: ")).toBe(true);
  expect(description.slice(3, -3)).not.toContain("`");
  expect(description.endsWith("\n```")).toBe(true);
});

/** A chat that answers as Slack and Discord do: 400 for a message that breaks their documents. */
async function openChat(kind: "slack" | "discord") {
  const server = await openReceiver();
  const faults: string[] = [];
  server.answer = ({ json }, response) => {
    const found = (kind === "slack" ? SlackMessage : DiscordMessage).safeParse(json);
    if (!found.success) faults.push(found.error.message);
    response.writeHead(!found.success ? 400 : kind === "slack" ? 200 : 204)
      .end(found.success && kind === "slack" ? "ok" : undefined);
  };
  return { server, faults };
}

/** Text that breaks out wherever somebody forgot a limit or a mark. */
const LONGEST: Message = {
  ...message,
  project_id: "p".repeat(64),
  risk: "critical",
  deadline: "2026-01-01T00:00:00.000Z",
  asked: Array.from({ length: 500 }, (_, i) => `${i}-${"m".repeat(60)}`),
  quoted: ["Agent", "Tool", "Path", "Command", "Reason"].map((name) => ({
    name,
    text: quote(`\u{1f4a9}\`\u202e& <@U1> ${"\n".repeat(200)}${"\u200b".repeat(4_000)}`),
  })),
  link: `http://localhost:47000/approvals?project=${"p".repeat(64)}&id=${crypto.randomUUID()}`,
};

describe.each(["slack", "discord"] as const)("what %s documents", (kind) => {
  const user = (i: number) =>
    kind === "slack" ? `U0${String(i).padStart(9, "0")}` : `${10n ** 17n + BigInt(i)}`;
  const shape = kind === "slack" ? slackMessage : discordMessage;
  const schema = kind === "slack" ? SlackMessage : DiscordMessage;

  test.each([0, 1, 500])("the longest message to %i people fits", (count) => {
    const to = Array.from({ length: count }, (_, i) => user(i));
    const shown = shape({ ...LONGEST, to });
    expect(schema.safeParse(shown).error?.message).toBe(undefined);
    expect(JSON.stringify(shown)).toContain("and 490 more");
    expect(schema.safeParse(shape({ ...testMessage(0, 47000), to: [] })).success).toBe(true);
  });

  test("every kind of news is taken by a server that checks it", async () => {
    const stage = await openNotifyStage({ pauses_ms: [] });
    const { server, faults } = await openChat(kind);
    const url_file = stage.secretFile("chat.url", `${server.url}/T000/B000/x`);
    await stage.configure([{ id: "chat", kind, url_file }]);
    await stage.hold({ path: `a & <b>/${"x".repeat(200)}.ts` });
    await stage.run(`echo "${HOSTILE.repeat(30)}"`);
    await stage.gate.daemon.notifications.settle();
    const { body } = await stage.ask("POST", "/api/notifications/test", {});
    expect([faults, body.items[0].ok, server.received.length]).toEqual([[], true, 3]);
    expect(await stage.deliveries("dead")).toEqual([]);
  });

  test("a busy server is asked again after the time that it names", async () => {
    const stage = await openNotifyStage({ pauses_ms: [1_000, 1_000] });
    const { server } = await openChat(kind);
    const take = server.answer;
    server.answer = (_, response) => {
      server.answer = take;
      response.writeHead(429, { "retry-after": "30" }).end('{"retry_after": 30}');
    };
    const url_file = stage.secretFile("chat.url", `${server.url}/x`);
    await stage.configure([{ id: "chat", kind, url_file }]);
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
    const [waiting] = await stage.deliveries("waiting");
    expect(Date.parse(waiting!.next_at!) - stage.gate.clock.now).toBe(30_000);
    stage.gate.clock.now += 30_000;
    await stage.gate.daemon.notifications.settle();
    expect(await stage.deliveries("sent")).toHaveLength(1);
  });
});

describe("the desktop gets texts as arguments, never as a script or markup", () => {
  test("macOS", () => {
    const { program, args } = desktopCommand(message, "darwin");
    expect(program).toBe("/usr/bin/osascript");
    const [title, body] = args.slice(args.indexOf("--") + 1);
    expect(title).toBe(message.title);
    expect(body).toContain("@everyone");
    expect(args.slice(0, args.indexOf("--")).join(" ")).not.toContain("evil");
  });

  test("Linux: the program gets the texts and the user's session, and its failure is told", async () => {
    const folder = createTempFolder("desktop");
    const told = join(folder, "told");
    const program = join(folder, "notify-send");
    writeFileSync(program, `#!/bin/sh\nprintf '%s\\0' "$@" > '${told}'\n`, { mode: 0o755 });
    const hostile = { ...message, title: "--help", quoted: [{ name: "Path", text: "$(id) <b>&" }] };
    const command = desktopCommand(hostile, "linux", ["/nowhere/notify-send", program]);
    await runDesktop(command, AbortSignal.timeout(10_000));
    expect(readFileSync(told, "utf8").split("\0")).toEqual([
      "--app-name=gate",
      "--",
      "--help",
      "Project: gate\nPath: $(id) &lt;b&gt;&amp;",
      "",
    ]);
    writeFileSync(program, "#!/bin/sh\nexit 3\n");
    await expect(runDesktop(command, AbortSignal.timeout(10_000))).rejects.toThrow("it failed");
    writeFileSync(program, "#!/bin/sh\nexec sleep 60\n");
    await expect(runDesktop(command, AbortSignal.timeout(100))).rejects.toThrow("in time");
    expect(() => desktopCommand(message, "linux", [])).toThrow("install libnotify");
  });

  test("Windows", () => {
    const { args, env } = desktopCommand(message, "win32");
    expect(args.join(" ")).not.toContain("evil");
    expect(env!["GATE_BODY"]).toContain("evil.example");
  });
});

describe("Slack and Discord over HTTP", () => {
  test.each(["slack", "discord"])("%s: the address is secret and stands nowhere", async (kind) => {
    const stage = await openNotifyStage({ pauses_ms: [] });
    const server = await openReceiver();
    const url_file = stage.secretFile("chat.url", `${server.url}/T000/B000/verysecret`);
    await stage.configure([{ id: "chat", kind, url_file }]);
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
    expect(server.received).toMatchObject([{ path: "/T000/B000/verysecret" }]);
    await server.close();
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
    const shown = [
      (await stage.ask("GET", "/api/notifications")).body,
      await stage.deliveries("dead"),
      (await stage.ask("GET", "/api/config")).body,
      stage.gate.logs,
    ];
    expect(await stage.deliveries("dead")).toHaveLength(1);
    expect(JSON.stringify(shown)).not.toContain("verysecret");
  });

  test("an address for another scheme is refused when it is read", async () => {
    const stage = await openNotifyStage();
    const url_file = stage.secretFile("chat.url", "http://169.254.169.254/latest/meta-data");
    await stage.configure([{ id: "chat", kind: "slack", url_file }]);
    const { body } = await stage.ask("POST", "/api/notifications/test", {});
    expect(body.items[0].error).toContain("must begin with https://");
  });
});

describe("withoutLinks", () => {
  test.each([
    ["https://a.example/x?y=1", "https[:]//a[.]example/x?y=1"],
    ["see a.example", "see a[.]example"],
    ["(www.a.co.uk)", "(www[.]a[.]co[.]uk)"],
    ["javascript:alert(1)", "javascript[:]alert(1)"],
    ["a@b.example", "a[@]b[.]example"],
    ["src/main.ts 1.2.3", "src/main.ts 1.2.3"],
    ["пример.рф", "пример[.]рф"],
  ])("%s", (text, shown) => expect(withoutLinks(text)).toBe(shown));
});

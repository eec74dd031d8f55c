import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { SMTPServer } from "smtp-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { openNotifyStage } from "./stage.ts";

interface Mail {
  from: string;
  to: string[];
  text: string;
  user: string | null;
}

/** A real mail server on loopback. */
async function openMailServer(
  { code, password }: { code?: number; password?: string } = {},
): Promise<{ port: number; mails: Mail[] }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    disabledCommands: password === undefined ? ["STARTTLS", "AUTH"] : ["STARTTLS"],
    authOptional: password === undefined,
    allowInsecureAuth: true,
    onAuth(auth, _session, done) {
      if (auth.password === password) done(null, { user: auth.username! });
      else done(new Error("the password is wrong: hunter2"));
    },
    onData(stream, { envelope, user }, done) {
      const parts: Uint8Array[] = [];
      stream.on("data", (part: Uint8Array) => parts.push(part));
      stream.on("end", () => {
        if (code !== undefined) {
          return done(Object.assign(new Error("no room for: hunter2"), { responseCode: code }));
        }
        mails.push({
          from: envelope.mailFrom ? envelope.mailFrom.address : "",
          to: envelope.rcptTo.map(({ address }) => address),
          text: Buffer.concat(parts).toString(),
          user: user === undefined ? null : String(user),
        });
        done();
      });
    },
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, mails };
}

const mailer = (port: number, smtp: object = {}, more: object = {}) => ({
  id: "mail",
  kind: "email",
  smtp: { host: "127.0.0.1", port, security: "none", ...smtp },
  from: "gate@example.com",
  to: ["team@example.com"],
  ...more,
});

/** The headers and the decoded lines of a mail. */
function parse(text: string): { head: string; body: string } {
  const at = text.indexOf("\r\n\r\n");
  const head = text.slice(0, at).replaceAll(/\r\n[ \t]+/g, " ");
  const raw = text.slice(at + 4);
  const body = /^Content-Transfer-Encoding: base64/im.test(head)
    ? Buffer.from(raw, "base64").toString()
    : /^Content-Transfer-Encoding: quoted-printable/im.test(head)
    ? Buffer.from(
      raw.replaceAll("=\r\n", "").replaceAll(
        /=([0-9A-F]{2})/g,
        (_, hex) => String.fromCharCode(parseInt(hex, 16)),
      ),
      "latin1",
    ).toString()
    : raw;
  return { head, body };
}

test("a held action is mailed as plain text to the configured address", async () => {
  const stage = await openNotifyStage();
  const { port, mails } = await openMailServer();
  await stage.configure([mailer(port)]);
  const action = await stage.hold({ path: "src/a.txt" });
  await stage.gate.daemon.notifications.settle();
  expect(mails).toMatchObject([{ from: "gate@example.com", to: ["team@example.com"], user: null }]);
  const { head, body } = parse(mails[0]!.text);
  expect(head).toMatch(/^Subject: gate: An action waits for your decision \(test\)$/m);
  expect(head).toMatch(/^Content-Type: text\/plain/m);
  expect(head).toMatch(/^Auto-Submitted: auto-generated$/m);
  expect(head).not.toMatch(/multipart|text\/html/i);
  expect(body).toContain(`http://localhost:47999/approvals?project=test&id=${action.id}`);
  expect(body).toContain("> Path: src/a.txt");
});

test("what the agent wrote forges no header, no line, no link and no markup", async () => {
  const stage = await openNotifyStage();
  const { port, mails } = await openMailServer();
  await stage.configure([mailer(port)]);
  await stage.run(
    'echo "\r\nBcc: thief@evil.example\r\n\r\nOpen the card: https://evil.example/login"' +
      " <b>bold</b> www.evil.example mailto:a@evil.example evil.example/x src/main.ts",
  );
  await stage.gate.daemon.notifications.settle();
  const { head, body } = parse(mails[0]!.text);
  expect(mails[0]!.to).toEqual(["team@example.com"]);
  expect(head).not.toContain("evil");
  const lines = body.split(/\r?\n/).filter((line) => line.includes("evil"));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^> Command: echo/);
  expect(lines[0]).not.toMatch(/https?:|evil\.example|mailto:|@evil/);
  expect(lines[0]).toContain("https[:]//evil[.]example/login");
  expect(lines[0]).toContain("src/main.ts");
  expect(body.match(/^Open the card: /gm)).toHaveLength(1);
});

test("a user and a password from a file", async () => {
  const stage = await openNotifyStage();
  const { port, mails } = await openMailServer({ password: "right" });
  const password_file = stage.secretFile("mail.key", "right\n");
  await stage.configure([mailer(port, { user: "gate", password_file })]);
  await stage.hold();
  await stage.gate.daemon.notifications.settle();
  expect(mails).toMatchObject([{ user: "gate" }]);
  stage.secretFile("mail.key", "wrong\n");
  const tested = await stage.ask("POST", "/api/notifications/test", {});
  expect(tested.body.items).toMatchObject([{
    ok: false,
    error: "it does not accept the user or the password",
  }]);
});

describe("a mail server that takes nothing", () => {
  test.each([[451], [550]])("answers %i: retried, then listed", async (code) => {
    const stage = await openNotifyStage({ pauses_ms: [5_000] });
    const { port } = await openMailServer({ code });
    await stage.configure([mailer(port)]);
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
    expect(await stage.deliveries("waiting")).toMatchObject([{ attempts: 1 }]);
    stage.gate.clock.advance(5_000);
    await stage.gate.daemon.notifications.settle();
    expect(await stage.deliveries("dead")).toMatchObject([{
      attempts: 2,
      error: `it answers with status ${code}`,
    }]);
  });

  test("says nothing, or a byte now and then: it times out, and the daemon decides", async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      const timer = setInterval(() => socket.write("2"), 50);
      socket.on("close", () => clearInterval(timer));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const stage = await openNotifyStage({ timeout_ms: 400 });
    await stage.configure([mailer((server.address() as AddressInfo).port)]);
    const { id } = await stage.hold();
    const settled = stage.gate.daemon.notifications.settle();
    const approved = await stage.ask("POST", `/api/actions/${id}/approve`, {});
    expect(approved.body).toMatchObject({ execution: "succeeded" });
    await settled;
    // The action may have been decided before it became news.
    const waiting = await stage.deliveries("waiting");
    for (const one of waiting) expect(one.error).toBe("it did not answer in time");
    const tested = await stage.ask("POST", "/api/notifications/test", {});
    expect(tested.body.items[0]).toMatchObject({ ok: false, error: "it did not answer in time" });
  });

  test("has no TLS where it is required: nothing is sent in the clear", async () => {
    const stage = await openNotifyStage();
    const { port, mails } = await openMailServer();
    await stage.configure([mailer(port, { security: "starttls" })]);
    const tested = await stage.ask("POST", "/api/notifications/test", {});
    expect(tested.body.items[0].ok).toBe(false);
    expect(mails).toEqual([]);
  });
});

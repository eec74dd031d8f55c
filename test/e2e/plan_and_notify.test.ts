import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { SMTPServer } from "smtp-server";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openReceiver, SECRET } from "../server/notifications/stage.ts";
import { Agent, heldAction } from "./agent.ts";
import { must, type Subject, World } from "./world.ts";

const SUBJECT = (process.env["GATE_TEST_SUBJECT"] ?? "executable") as Subject;

describe.sequential(`plans and notifications, on ${SUBJECT}`, () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await World.create(SUBJECT);
    await world.init({ defaultEffect: "ask" });
    agent = await Agent.connect(world);
  });

  afterAll(async () => {
    await agent?.close();
    await world?.close();
  });

  test("one approval of a plan lets the agent run its steps, and nothing else", async () => {
    const steps = [
      { tool: "write_file", input: { path: "a.txt", content: "a\n" } },
      { tool: "run_command", input: { command: "cat a.txt" } },
    ];
    const waiting = agent.call("submit_plan", { title: "Write and look", steps });
    const held = await heldAction(world);
    expect(must(await world.run(["show", held.id])).stdout).toContain("step 2 of 2");
    must(await world.run(["approve", held.id]));
    const { data } = await waiting;
    expect(data).toMatchObject({ status: "approved", execution: "succeeded" });
    expect(data.message).toContain("call the tool of each step");
    expect(existsSync(join(world.project, "a.txt"))).toBe(false);
    expect((await agent.call("write_file", steps[0]!.input)).data)
      .toMatchObject({ status: "approved", execution: "succeeded" });
    expect(readFileSync(join(world.project, "a.txt"), "utf8")).toBe("a\n");
    expect((await agent.call("run_command", steps[1]!.input)).data)
      .toMatchObject({ status: "approved", exit_code: 0, output: "a\n" });
    const again = await agent.call("run_command", { ...steps[1]!.input, wait_ms: 0 });
    expect(again.data).toMatchObject({ status: "pending" });
    must(await world.run(["reject", again.data.action_id, "--reason", "no"]));
    must(await world.run(["audit", "verify"]));
  });

  test("a webhook and a mail server get a held action", async () => {
    const server = await openReceiver();
    const mails: string[] = [];
    const smtp = new SMTPServer({
      disabledCommands: ["STARTTLS", "AUTH"],
      authOptional: true,
      onData(stream, _session, done) {
        let text = "";
        stream.on("data", (part) => text += part);
        stream.on("end", () => {
          mails.push(text);
          done();
        });
      },
    });
    await new Promise<void>((resolve) => smtp.listen(0, "127.0.0.1", () => resolve()));
    const { port } = smtp.server.address() as AddressInfo;
    const key = join(world.folder, "hook.key");
    writeFileSync(key, SECRET, { mode: 0o600 });
    must(
      await world.run([
        ...["notify", "add", "webhook", "hook", "--url", server.url, "--secret-file", key],
      ]),
    );
    must(
      await world.run([
        ...["notify", "add", "email", "mail", "--smtp", "127.0.0.1", "--port", String(port)],
        ...["--security", "none", "--from", "gate@example.com", "--to", "team@example.com"],
      ]),
    );
    must(await world.run(["notify", "test"]));
    expect(mails).toHaveLength(1);
    const { data } = await agent.call("write_file", { path: "b.txt", content: "b", wait_ms: 0 });
    await server.until(2);
    const { headers, text } = server.received[1]!;
    expect(new Webhook(SECRET).verify(text, headers)).toMatchObject({
      type: "action.held",
      data: { action_id: data.action_id },
    });
    await expect.poll(() => mails.length).toBe(2);
    expect(mails[1]).toContain("An action waits for your decision");
    await new Promise<void>((resolve) => smtp.close(() => resolve()));
  });
});

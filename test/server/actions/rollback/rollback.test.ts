import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { describe, expect, test } from "vitest";
import { agent, openGate, reviewer, sha } from "../harness.ts";

describe("a rollback", () => {
  test("restores bytes and mode", async () => {
    const { gate, submit, back, at } = await openGate();
    const old = Uint8Array.from({ length: 256 }, (_, n) => n);
    gate.write("bin.dat", old);
    chmodSync(at("bin.dat"), 0o755);
    const content = btoa("\x00new\xff");
    const action = await submit("write_file", { path: "bin.dat", content, encoding: "base64" });
    expect(sha(readFileSync(at("bin.dat")))).toBe(action.after_sha256);
    expect(lstatSync(at("bin.dat")).mode & 0o777).toBe(0o755);
    await back(action.id);
    expect(sha(readFileSync(at("bin.dat")))).toBe(sha(old));
    expect(lstatSync(at("bin.dat")).mode & 0o777).toBe(0o755);
  });

  test("removes a created file and the folders made for it", async () => {
    const { write, back, at } = await openGate();
    const action = await write("new/dir/b.txt", "x");
    await back(action.id);
    expect(existsSync(at("new"))).toBe(false);
  });

  test("keeps a created folder that now holds another file", async () => {
    const { gate, write, back, at } = await openGate();
    const action = await write("new/dir/b.txt", "x");
    gate.write("new/dir/mine.txt", "mine");
    await back(action.id);
    expect(readdirSync(at("new/dir"))).toEqual(["mine.txt"]);
  });

  test("is refused with hashes and a diff when the file has changed since", async () => {
    const { gate, write, back, read, actions } = await openGate({ files: { "a.txt": "v1\n" } });
    const action = await write("a.txt", "v2\n");
    gate.write("a.txt", "by hand\n");
    await expect(back(action.id)).rejects.toMatchObject({
      code: "conflict",
      fields: {
        conflicts: [{
          path: "a.txt",
          left_sha256: sha("v2\n"),
          now_sha256: sha("by hand\n"),
          before_sha256: sha("v1\n"),
        }],
        diff: expect.stringContaining("-v2\n+by hand\n"),
      },
    });
    expect(read("a.txt")).toBe("by hand\n");
    expect((await actions.get(action.id)).status).toBe("approved");
  });

  test.each([
    ["nothing", (path: string) => rmSync(path)],
    ["a link to elsewhere", (path: string) => {
      rmSync(path);
      symlinkSync("/etc/passwd", path);
    }],
    ["a folder", (path: string) => {
      rmSync(path);
      mkdirSync(path);
    }],
  ])("is refused when %s has taken the place of the file", async (_name, change) => {
    const { write, back, at } = await openGate({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    change(at("a.txt"));
    await expect(back(action.id)).rejects.toMatchObject({ code: "conflict" });
  });

  test("of the older of two writes is refused until the newer one is rolled back", async () => {
    const { write, back, read } = await openGate({ files: { "a.txt": "v0" } });
    const first = await write("a.txt", "v1");
    const second = await write("a.txt", "v2");
    await expect(back(first.id)).rejects.toMatchObject({ code: "conflict" });
    await back(second.id);
    await back(first.id);
    expect(read("a.txt")).toBe("v0");
  });

  test("reports that the file already has its old content", async () => {
    const { gate, write, back, actions } = await openGate({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    gate.write("a.txt", "v1");
    expect(await back(action.id)).toMatchObject({
      outcome: "already_undone",
      rollback: null,
      action: { status: "rolled_back" },
    });
    await expect(back(action.id)).rejects.toMatchObject({ code: "conflict" });
    await expect(actions.replay(action.id, reviewer)).resolves.toMatchObject({
      action: { replay_of: action.id, execution: "succeeded" },
    });
  });

  test("merges later changes of other lines, and can itself be rolled back", async () => {
    const { gate, write, back, read } = await openGate({ files: { "a.txt": "1\n2\n3\n4\n5\n" } });
    const action = await write("a.txt", "1\nTWO\n3\n4\n5\n");
    gate.write("a.txt", "1\nTWO\n3\n4\nFIVE\n");
    const { outcome, rollback } = await back(action.id, { on_conflict: "merge" });
    expect(outcome).toBe("merged");
    expect(read("a.txt")).toBe("1\n2\n3\n4\nFIVE\n");
    await back(rollback!.id);
    expect(read("a.txt")).toBe("1\nTWO\n3\n4\nFIVE\n");
  });

  test("does not merge later changes of the same lines", async () => {
    const { gate, write, back, read } = await openGate({ files: { "a.txt": "1\n2\n3\n" } });
    const action = await write("a.txt", "1\nTWO\n3\n");
    gate.write("a.txt", "1\nTWO!\n3\n");
    await expect(back(action.id, { on_conflict: "merge" })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/cannot be merged; look at the diff, then use .* "force"$/),
    });
    expect(read("a.txt")).toBe("1\nTWO!\n3\n");
  });

  test("with force keeps the replaced content, so a second rollback restores it", async () => {
    const { gate, write, back, read } = await openGate({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    gate.write("a.txt", "by hand");
    const { outcome, rollback } = await back(action.id, { on_conflict: "force" });
    expect(outcome).toBe("forced");
    expect(read("a.txt")).toBe("v1");
    await back(rollback!.id);
    expect(read("a.txt")).toBe("by hand");
  });

  test("changes nothing in a dry run", async () => {
    const { gate, write, back, read } = await openGate({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    const events = (await gate.audit()).length;
    expect(await back(action.id, { dry_run: true })).toMatchObject({
      dry_run: true,
      outcome: "restored",
      rollback: null,
      action: { status: "approved" },
      changes: [{ path: "a.txt", now_sha256: sha("v2"), then_sha256: sha("v1") }],
    });
    expect(read("a.txt")).toBe("v2");
    expect((await gate.audit()).length).toBe(events);
  });

  test("restores deleted, moved and edited files", async () => {
    const { submit, back, read, at } = await openGate({
      files: { "a.txt": "one two", "b.txt": "b" },
    });
    chmodSync(at("b.txt"), 0o600);
    const edits = [{ old_text: "two", new_text: "2" }];
    const edit = await submit("edit_file", { path: "a.txt", edits });
    expect(read("a.txt")).toBe("one 2");
    const move = await submit("move_file", { from: "a.txt", to: "sub/c.txt" });
    expect([existsSync(at("a.txt")), read("sub/c.txt")]).toEqual([false, "one 2"]);
    const gone = await submit("delete_file", { path: "b.txt" });
    expect(existsSync(at("b.txt"))).toBe(false);
    await back(gone.id);
    expect([read("b.txt"), lstatSync(at("b.txt")).mode & 0o777]).toEqual(["b", 0o600]);
    await back(move.id);
    expect([read("a.txt"), existsSync(at("sub"))]).toEqual(["one 2", false]);
    await back(edit.id);
    expect(read("a.txt")).toBe("one two");
  });

  test("is refused for an action that was never executed", async () => {
    const { actions, submit, back } = await openGate({
      policies: { defaultEffect: "ask", blockedPaths: ["no.txt"], allowedCommands: ["true"] },
    });
    const input = (path: string) => ({ path, content: "x" });
    const rejected = await submit("write_file", input("a.txt"));
    await actions.reject(rejected.id, {}, reviewer);
    const ids = [
      rejected.id,
      (await submit("write_file", input("no.txt"))).id,
      (await submit("write_file", input("held.txt"))).id,
      (await submit("run_command", { command: "true" })).id,
    ];
    for (const id of ids) await expect(back(id)).rejects.toMatchObject({ code: "conflict" });
    await expect(back("0")).rejects.toMatchObject({ code: "not_found" });
  });

  test("is announced as impossible when the file is larger than maxBlobBytes", async () => {
    const { gate, write, back, actions } = await openGate({
      policies: { defaultEffect: "ask", maxBlobBytes: 10 },
    });
    gate.write("big.txt", "x".repeat(11));
    const action = await write("big.txt", "small");
    expect(action).toMatchObject({ status: "pending", reversible: false });
    expect(action.risk.factors).toContainEqual(
      expect.objectContaining({ name: "not_reversible", why: expect.stringContaining("11 bytes") }),
    );
    await actions.approve(action.id, {}, reviewer);
    await expect(back(action.id)).rejects.toMatchObject({ code: "conflict" });
  });

  test("by an agent passes the policy and is limited to the agent's own session", async () => {
    const { gate, actions, submit, read } = await openGate({
      policies: { defaultEffect: "allow", askPaths: ["held.txt"] },
      files: { "a.txt": "v1", "held.txt": "v1" },
    });
    const free = await submit("write_file", { path: "a.txt", content: "v2" });
    expect(await submit("rollback", { action_id: free.id })).toMatchObject({
      tool: "rollback",
      status: "approved",
      execution: "succeeded",
      rollback_of: free.id,
    });
    expect(read("a.txt")).toBe("v1");
    expect((await actions.get(free.id)).status).toBe("rolled_back");

    const held = await submit("write_file", { path: "held.txt", content: "v2" });
    await actions.approve(held.id, {}, reviewer);
    const undo = await submit("rollback", { action_id: held.id });
    expect(undo.status).toBe("pending");
    expect(read("held.txt")).toBe("v2");
    await actions.approve(undo.id, {}, reviewer);
    expect(read("held.txt")).toBe("v1");

    const { id: session_id } = await gate.project.sessions.open({ agent: "other" }, agent);
    const again = await submit("write_file", { path: "a.txt", content: "v3" });
    await expect(
      actions.submit({ tool: "rollback", input: { action_id: again.id }, session_id }, agent),
    ).rejects.toMatchObject({ code: "not_found" });
    await expect(actions.rollback(again.id, {}, agent)).rejects.toMatchObject({
      code: "forbidden",
    });
  });

  test("that conflicts shows an agent no content of the file", async () => {
    const { gate, actions, submit } = await openGate({ files: { "a.txt": "v1" } });
    const action = await submit("write_file", { path: "a.txt", content: "v2" });
    gate.write("a.txt", "a secret of the person");
    const ask = (caller: typeof agent) =>
      actions.submit({ tool: "rollback", input: { action_id: action.id } }, caller)
        .catch((error) => error);
    const refused = await ask(agent);
    expect(refused).toMatchObject({
      code: "conflict",
      fields: { conflicts: [{ path: "a.txt", now_sha256: sha("a secret of the person") }] },
    });
    expect(JSON.stringify(refused.fields)).not.toContain("secret of");
    const shown = await actions.rollback(action.id, {}, reviewer).catch((error) => error);
    expect(shown.fields.conflicts[0].texts.now).toBe("a secret of the person");
  });

  test("works after a restart of the daemon", async () => {
    const { gate, write, read } = await openGate({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    await gate.reopen();
    await gate.project.actions.rollback(action.id, {}, reviewer);
    expect(read("a.txt")).toBe("v1");
  });
});

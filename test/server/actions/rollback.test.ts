import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate, type TestGateOptions } from "../../helpers.ts";

const agent = testCaller("agent");
const reviewer = testCaller("reviewer");
const sha = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

async function open(options: TestGateOptions = {}) {
  const gate = await createTestGate(options);
  const { actions } = gate.project;
  const submit = async (tool: string, input: Record<string, unknown>) =>
    (await actions.submit({ tool, input }, agent)).action;
  return {
    gate,
    actions,
    submit,
    write: (path: string, content: string) => submit("write_file", { path, content }),
    back: (id: string, input = {}) => actions.rollback(id, input, reviewer),
    at: (path: string) => join(gate.root, path),
    read: (path: string) => readFileSync(join(gate.root, path), "utf8"),
  };
}

describe("rollback", () => {
  test("restores bytes and mode", async () => {
    const { gate, submit, back, at } = await open();
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
    const { write, back, at } = await open();
    const action = await write("new/dir/b.txt", "x");
    await back(action.id);
    expect(existsSync(at("new"))).toBe(false);
  });

  test("keeps a folder that holds something else by now", async () => {
    const { gate, write, back, at } = await open();
    const action = await write("new/dir/b.txt", "x");
    gate.write("new/dir/mine.txt", "mine");
    await back(action.id);
    expect(readdirSync(at("new/dir"))).toEqual(["mine.txt"]);
  });

  test("never touches a file that has changed since, and says how", async () => {
    const { gate, write, back, read, actions } = await open({ files: { "a.txt": "v1\n" } });
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
    ["a deleted file", (path: string) => rmSync(path)],
    ["a link to elsewhere", (path: string) => {
      rmSync(path);
      symlinkSync("/etc/passwd", path);
    }],
    ["a folder", (path: string) => {
      rmSync(path);
      mkdirSync(path);
    }],
  ])("refuses %s", async (_name, change) => {
    const { write, back, at } = await open({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    change(at("a.txt"));
    await expect(back(action.id)).rejects.toMatchObject({ code: "conflict" });
  });

  test("of the older of two writes is refused; newest first works", async () => {
    const { write, back, read } = await open({ files: { "a.txt": "v0" } });
    const first = await write("a.txt", "v1");
    const second = await write("a.txt", "v2");
    await expect(back(first.id)).rejects.toMatchObject({ code: "conflict" });
    await back(second.id);
    await back(first.id);
    expect(read("a.txt")).toBe("v0");
  });

  test("where the file is as it was already does nothing but say so", async () => {
    const { gate, write, back, actions } = await open({ files: { "a.txt": "v1" } });
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

  test("merges what came later, and can be undone", async () => {
    const { gate, write, back, read } = await open({ files: { "a.txt": "1\n2\n3\n4\n5\n" } });
    const action = await write("a.txt", "1\nTWO\n3\n4\n5\n");
    gate.write("a.txt", "1\nTWO\n3\n4\nFIVE\n");
    const { outcome, rollback } = await back(action.id, { on_conflict: "merge" });
    expect(outcome).toBe("merged");
    expect(read("a.txt")).toBe("1\n2\n3\n4\nFIVE\n");
    await back(rollback!.id);
    expect(read("a.txt")).toBe("1\nTWO\n3\n4\nFIVE\n");
  });

  test("does not merge what touches the same lines", async () => {
    const { gate, write, back, read } = await open({ files: { "a.txt": "1\n2\n3\n" } });
    const action = await write("a.txt", "1\nTWO\n3\n");
    gate.write("a.txt", "1\nTWO!\n3\n");
    await expect(back(action.id, { on_conflict: "merge" })).rejects.toMatchObject({
      code: "conflict",
    });
    expect(read("a.txt")).toBe("1\nTWO!\n3\n");
  });

  test("forced keeps what it replaces, so that undoing it brings that back", async () => {
    const { gate, write, back, read } = await open({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    gate.write("a.txt", "by hand");
    const { outcome, rollback } = await back(action.id, { on_conflict: "force" });
    expect(outcome).toBe("forced");
    expect(read("a.txt")).toBe("v1");
    await back(rollback!.id);
    expect(read("a.txt")).toBe("by hand");
  });

  test("as a dry run changes nothing", async () => {
    const { gate, write, back, read } = await open({ files: { "a.txt": "v1" } });
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

  test("of deletions, moves and edits", async () => {
    const { submit, back, read, at } = await open({ files: { "a.txt": "one two", "b.txt": "b" } });
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

  test("is not for what was never carried out", async () => {
    const { actions, submit, back } = await open({
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

  test("is announced as impossible where the file is larger than may be kept", async () => {
    const { gate, write, back, actions } = await open({
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

  test("submitted by an agent passes policy, for its own session only", async () => {
    const { gate, actions, submit, read } = await open({
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
    ).rejects.toMatchObject({ code: "forbidden" });
    await expect(actions.rollback(again.id, {}, agent)).rejects.toMatchObject({
      code: "forbidden",
    });
  });

  test("survives a restart in between", async () => {
    const { gate, write, read } = await open({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    await gate.reopen();
    await gate.project.actions.rollback(action.id, {}, reviewer);
    expect(read("a.txt")).toBe("v1");
  });
});

describe("replay", () => {
  test("is for rolled-back writes, and passes policy again", async () => {
    const { gate, actions, write, back, read } = await open({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    await expect(actions.replay(action.id, reviewer)).rejects.toMatchObject({ code: "conflict" });
    await back(action.id);
    await expect(actions.replay(action.id, agent)).rejects.toMatchObject({ code: "forbidden" });
    gate.write(
      "gate.config.json",
      JSON.stringify({ id: "test", policies: { defaultEffect: "ask", blockedPaths: ["b.txt"] } }),
    );
    const { action: again } = await actions.replay(action.id, reviewer);
    expect(again).toMatchObject({ status: "pending", replay_of: action.id });
    await actions.approve(again.id, {}, reviewer);
    expect(read("a.txt")).toBe("v2");
    const types = (await gate.audit()).filter(({ action_id }) => action_id === action.id)
      .map(({ type }) => type);
    expect(types.at(-1)).toBe("action.replayed");
  });

  test("of an edited write writes what the reviewer made of it", async () => {
    const { actions, write, back, read } = await open({ policies: { defaultEffect: "ask" } });
    const action = await write("a.txt", "agent's");
    await actions.approveWithEdit(action.id, { content: "reviewer's" }, reviewer);
    await back(action.id);
    const { action: again } = await actions.replay(action.id, reviewer);
    await actions.approve(again.id, {}, reviewer);
    expect(read("a.txt")).toBe("reviewer's");
  });
});

describe("what happens to files while something is held", () => {
  const policies = { defaultEffect: "ask" as const };
  async function held(gate: TestGate, path: string) {
    const input = { path, content: "agent's" };
    return (await gate.project.actions.submit({ tool: "write_file", input }, agent)).action;
  }

  test("a folder swapped for a link: nothing is written anywhere", async () => {
    const { gate, actions, at } = await open({ policies, files: { "h/a.txt": "v1", "out/x": "" } });
    const action = await held(gate, "h/a.txt");
    renameSync(at("h"), at("h.real"));
    symlinkSync("out", at("h"));
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
    });
    expect(await actions.get(action.id)).toMatchObject({ status: "pending", execution: "none" });
    expect(readdirSync(at("out"))).toEqual(["x"]);
  });

  test("an edit by hand survives, and the conflict names both contents", async () => {
    const { gate, actions, read } = await open({ policies, files: { "a.txt": "v1" } });
    const action = await held(gate, "a.txt");
    gate.write("a.txt", "by hand");
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
      fields: { expected_sha256: sha("v1"), now_sha256: sha("by hand") },
    });
    expect(read("a.txt")).toBe("by hand");
  });

  test("a script that changes is not the one that was approved", async () => {
    const { gate, actions, submit } = await open({ policies, files: { "deploy.sh": "echo 1" } });
    const before = await submit("run_command", { command: "sh deploy.sh" });
    const late = await submit("run_command", { command: "sh ./deploy.sh now" });
    await actions.approve(late.id, {}, reviewer);
    gate.write("deploy.sh", "echo 2");
    await expect(actions.approve(before.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
    });
    await expect(actions.claim(late.id, {}, agent)).rejects.toMatchObject({ code: "conflict" });
    expect(await actions.get(late.id)).toMatchObject({ status: "approved", execution: "failed" });
  });

  test("a policy that blocks it by now is asked again", async () => {
    const { gate, actions, at } = await open({ policies });
    const action = await held(gate, "late.txt");
    gate.write(
      "gate.config.json",
      JSON.stringify({ id: "test", policies: { ...policies, blockedPaths: ["late.txt"] } }),
    );
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("policy blocks it"),
    });
    expect(existsSync(at("late.txt"))).toBe(false);
  });

  test("another digest than the one that was shown is refused", async () => {
    const { gate, actions } = await open({ policies });
    const action = await held(gate, "a.txt");
    const expected_digest = "0".repeat(64);
    for (const verb of ["approve", "reject"] as const) {
      await expect(actions[verb](action.id, { expected_digest }, reviewer)).rejects.toMatchObject({
        code: "digest_mismatch",
        status: 412,
      });
    }
    expect((await actions.get(action.id)).status).toBe("pending");
    writeFileSync(join(gate.root, "unrelated"), "");
    await actions.approve(action.id, { expected_digest: action.digest }, reviewer);
  });
});

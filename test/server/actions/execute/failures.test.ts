import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openSystemCalls } from "../../../../server/runtime/system_calls.ts";
import { canNameFiles } from "../../../../server/runtime/unnamed_file.ts";
import { Database } from "../../../../server/db/database.ts";
import { agent, openGate, reviewer } from "../harness.ts";

/** A fault that fails the first occurrence of a step, as a full disk does. */
function failing(step: string) {
  const state = { armed: true };
  const fault = (now: string) => {
    if (!state.armed || now !== step) return;
    state.armed = false;
    throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  };
  return { state, fault };
}

describe("a failing execution", () => {
  test.each(["temporary"])(
    "a write that fails at step %s keeps the file, and the next write succeeds",
    async (step) => {
      const { fault } = failing(step);
      const { gate, write, read } = await openGate({ fault, files: { "a.txt": "v1" } });
      expect(await write("a.txt", "v2")).toMatchObject({
        status: "approved",
        execution: "failed",
        error:
          `Cannot use "${join(gate.root, "a.txt")}": the disk is full; make room on the disk, ` +
          "then submit it again",
      });
      expect(read("a.txt")).toBe("v1");
      expect(readdirSync(gate.root).sort()).toEqual(["a.txt", "gate.config.json"]);
      expect(await write("a.txt", "v2")).toMatchObject({ execution: "succeeded" });
      expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
    },
  );

  test("a write whose start the disk does not take leaves the folder as it was", async () => {
    const { gate, write, read } = await openGate({ files: { "a.txt": "v1" } });
    const temporary = () => readdirSync(gate.root).filter((name) => name.startsWith(".gate-"));
    const hasUnnamed = await openSystemCalls() !== null;
    await vi.waitFor(() => expect(canNameFiles()).toBe(hasUnnamed));
    const visible = hasUnnamed ? 0 : 1;
    // The first write also opens the session, in a commit of its own.
    await write("b.txt", "x");
    let staged: string[] = [];
    const spy = vi.spyOn(Database.prototype, "syncLog").mockImplementationOnce(async () => {
      // The temporary file is written while the disk is busy with the start, or has no name yet.
      await expect.poll(temporary).toHaveLength(visible);
      staged = temporary();
      throw new Error("EIO");
    });
    onTestFinished(() => spy.mockRestore());
    await expect(write("a.txt", "v2")).rejects.toMatchObject({ code: "unavailable" });
    expect(staged).toHaveLength(visible);
    expect(read("a.txt")).toBe("v1");
    expect(temporary()).toEqual([]);
  });

  test("a write whose project folder was moved away fails, and makes no new folder", async () => {
    const policies = { defaultEffect: "allow" as const, askPaths: ["held/**"] };
    const { gate, write } = await openGate({ policies, files: { "a.txt": "v1" } });
    const held = await write("held/a.txt", "v2");
    const moved = `${gate.root}-moved`;
    renameSync(gate.root, moved);
    onTestFinished(() => rmSync(moved, { recursive: true, force: true }));
    const { actions } = gate.project;
    const failed = {
      status: "approved",
      execution: "failed",
      error: expect.stringMatching(/the project's folder ".*" does not exist; put it back/),
    };
    expect(await actions.approve(held.id, {}, reviewer)).toMatchObject(failed);
    expect(await write("new.txt", "v2")).toMatchObject(failed);
    expect(existsSync(gate.root)).toBe(false);
    renameSync(moved, gate.root);
    expect(await write("new.txt", "v2")).toMatchObject({ execution: "succeeded" });
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
  });

  test("a write that fails after its rename is recorded as succeeded", async () => {
    const { fault } = failing("renamed");
    const { write, back, read } = await openGate({ fault, files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    expect(action).toMatchObject({ execution: "succeeded", error: null });
    expect(read("a.txt")).toBe("v2");
    await back(action.id);
    expect(read("a.txt")).toBe("v1");
  });

  test("a move that fails at its second file restores the first one", async () => {
    const { gate, submit, read, at } = await openGate({
      files: { "a.txt": "v1" },
      fault: (step) => {
        if (step !== "renamed") return;
        rmSync(at("a.txt"), { force: true });
        writeFileSync(at("a.txt"), "by hand");
      },
    });
    const action = await submit("move_file", { from: "a.txt", to: "sub/b.txt" });
    expect(action).toMatchObject({
      execution: "failed",
      error: expect.stringContaining("changed"),
    });
    expect(read("a.txt")).toBe("by hand");
    expect(readdirSync(gate.root).sort()).toEqual(["a.txt", "gate.config.json"]);
  });

  test("an approval is refused when a folder now has the file's name", async () => {
    const { actions, write, at } = await openGate({ policies: { defaultEffect: "ask" } });
    const action = await write("a.txt", "x");
    mkdirSync(at("a.txt"));
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
    });
    expect(readdirSync(at("a.txt"))).toEqual([]);
  });
});

test("a failed rollback changes neither the file nor the action", async () => {
  let armed = false;
  const { actions, write, back, read } = await openGate({
    files: { "a.txt": "v1" },
    fault: (step) => {
      if (armed && step === "temporary") throw new Error("no space");
    },
  });
  const action = await write("a.txt", "v2");
  armed = true;
  await expect(back(action.id)).rejects.toMatchObject({ code: "conflict" });
  expect(read("a.txt")).toBe("v2");
  expect((await actions.get(action.id)).status).toBe("approved");
  armed = false;
  await back(action.id);
  expect(read("a.txt")).toBe("v1");
});

test("a write whose outcome could not be recorded is recovered once, without a restart", async () => {
  const { fault } = failing("applied");
  const { gate, actions, write, back, read } = await openGate({ fault, files: { "a.txt": "v1" } });
  await expect(write("a.txt", "v2")).rejects.toThrow("ENOSPC");
  const { items: [left] } = await actions.list({});
  expect(left).toMatchObject({ status: "approved", execution: "running" });
  await Promise.all([actions.expireDue(), actions.expireDue()]);
  expect(await actions.get(left!.id)).toMatchObject({ execution: "succeeded", error: null });
  const types = (await gate.audit()).filter(({ action_id }) => action_id === left!.id)
    .map(({ type }) => type);
  expect(types.filter((type) => type === "action.finished")).toHaveLength(1);
  await back(left!.id);
  expect(read("a.txt")).toBe("v1");
});

test("recovery ignores a write that is still executing", async () => {
  let sweep = () => Promise.resolve();
  const { actions, write, read } = await openGate({
    files: { "a.txt": "v1" },
    fault: (step) => step === "temporary" ? void sweep() : undefined,
  });
  sweep = () => actions.expireDue();
  expect(await write("a.txt", "v2")).toMatchObject({ execution: "succeeded" });
  await actions.expireDue();
  expect(read("a.txt")).toBe("v2");
});

test("a broken config blocks every action, also an approval", async () => {
  const { gate, actions, write } = await openGate({ policies: { defaultEffect: "ask" } });
  const held = await write("a.txt", "x");
  gate.write("gate.config.json", "{ not json");
  expect(await write("b.txt", "x")).toMatchObject({ status: "blocked" });
  await expect(actions.approve(held.id, {}, reviewer)).rejects.toMatchObject({ code: "conflict" });
  await expect(actions.submit({ tool: "read_file", input: { path: "a" } }, agent)).resolves
    .toMatchObject({ action: { status: "blocked" }, result: null });
});

import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasRival } from "../../../../server/actions/conflicts/store.ts";
import type { Ledger } from "../../../../server/db/ledger.ts";
import { openSessions } from "../../sessions/harness.ts";

const POLICIES = { defaultEffect: "allow" as const, askPaths: ["held/**"], askCommands: ["rm"] };

async function openTwo() {
  const around = await openSessions({
    policies: POLICIES,
    files: { "held/a.txt": "one\n", "free.txt": "free\n" },
  });
  const [codex, claude] = [await around.open("codex"), await around.open("claude")];
  const detail = async (id: string) => (await around.ask("GET", `/api/actions/${id}`)).body;
  const conflicted = async () =>
    (await around.gate.audit()).filter(({ type }) => type === "action.conflicted");
  return { ...around, codex, claude, detail, conflicted };
}

test("the search for rivals reads only rows of the given files", async () => {
  const { gate, codex } = await openTwo();
  const { ledger } = gate.project;
  const plans: string[] = [];
  const watched: Pick<Ledger, "project_id" | "machine" | "all"> = {
    project_id: ledger.project_id,
    machine: ledger.machine,
    async all(sql, args) {
      const rows = await ledger.all(`EXPLAIN QUERY PLAN ${sql}`, args);
      plans.push(...rows.map(({ detail }) => String(detail)));
      return await ledger.all(sql, args);
    },
  };
  const found = await hasRival(watched as Ledger, { id: "x", session_id: codex }, ["/a"], [
    { path: "/a", sha256: "y" },
  ]);
  expect(found).toBe(false);
  expect(plans.filter((plan) => /^(?:SCAN|SEARCH) (?!given|CONSTANT)/.test(plan)).sort()).toEqual([
    "SEARCH actions USING INDEX sqlite_autoindex_actions_1 (project_id=? AND id=?)",
    "SEARCH actions USING INDEX sqlite_autoindex_actions_1 (project_id=? AND id=?)",
    "SEARCH held_paths USING PRIMARY KEY (project_id=? AND path=?)",
    "SEARCH intents USING INDEX intents_by_path (project_id=? AND path=?)",
  ]);
});

describe("two sessions that change one file", () => {
  test("two held writes each show a conflict with the diff of the other", async () => {
    const { codex, claude, submit, write, detail, ask, gate, conflicted } = await openTwo();
    const first = await write(codex, "held/a.txt", "by codex\n");
    const second = await submit(claude, "write_file", {
      path: "held/a.txt",
      content: "by claude\n",
    });
    expect(second.conflicts).toEqual([{
      kind: "both_hold",
      action_id: first,
      session_id: codex,
      agent: "codex",
      path: "held/a.txt",
    }]);
    expect(await detail(first)).toMatchObject({
      conflicts: [{
        kind: "both_hold",
        action_id: second.id,
        agent: "claude",
        status: "pending",
        diff: expect.stringContaining("+by claude"),
      }],
    });
    expect(await detail(second.id)).toMatchObject({
      conflicts: [{ diff: expect.stringContaining("+by codex") }],
    });
    const { body } = await ask("GET", "/api/global/approvals/pending");
    expect(body.items.map(({ conflicts }: { conflicts: unknown[] }) => conflicts.length))
      .toEqual([1, 1]);
    expect((await conflicted()).map(({ action_id }) => action_id).sort())
      .toEqual([first, second.id].sort());
    expect(gate.events.filter(({ type }) => type === "action.conflicted").map(({ topic }) => topic))
      .toEqual(["actions", "approvals", "actions", "approvals"]);
    // The conflicts of a decided action show its present status.
    await ask("POST", `/api/actions/${first}/reject`, {});
    expect((await detail(second.id)).conflicts[0].status).toBe("rejected");
    const third = await submit(codex, "write_file", { path: "held/b.txt", content: "alone\n" });
    expect(third.conflicts).toEqual([]);
  });

  test("a held command conflicts with a held write to the same file", async () => {
    const { codex, claude, submit, write } = await openTwo();
    const first = await write(codex, "held/a.txt", "by codex\n");
    const second = await submit(claude, "run_command", { command: "rm held/a.txt" });
    expect(second).toMatchObject({
      status: "pending",
      conflicts: [{ kind: "both_hold", action_id: first, path: "held/a.txt" }],
    });
  });

  test("overwriting an unreviewed write of another session marks both actions", async () => {
    const { codex, claude, submit, write, detail, conflicted } = await openTwo();
    const first = await write(codex, "free.txt", "by codex\n");
    const second = await submit(claude, "write_file", { path: "free.txt", content: "by claude\n" });
    expect(second).toMatchObject({
      execution: "succeeded",
      conflicts: [{ kind: "overwrites", action_id: first, agent: "codex" }],
    });
    expect(await detail(first)).toMatchObject({
      conflicts: [{
        kind: "overwritten_by",
        action_id: second.id,
        status: "approved",
        diff: expect.stringContaining("-by codex\n+by claude"),
      }],
    });
    expect(await conflicted()).toHaveLength(2);
    // A session's own earlier writes are no conflict.
    const third = await submit(claude, "write_file", { path: "free.txt", content: "again\n" });
    expect(third.conflicts).toEqual([]);
  });

  test("a change that another session holds after the start of a write is a conflict", async () => {
    let held: Record<string, unknown> = {};
    const between: { hold: (() => Promise<void>) | null } = { hold: null };
    const around = await openSessions({
      policies: POLICIES,
      files: { "free.txt": "free\n" },
      fault: async (step) => {
        const { hold } = between;
        between.hold = null;
        if (step === "intent") await hold?.();
      },
    });
    const { open, submit, ask } = around;
    const [codex, claude] = [await open("codex"), await open("claude")];
    between.hold = async () => {
      held = await submit(claude, "run_command", { command: "rm free.txt" });
    };
    const written = await submit(codex, "write_file", { path: "free.txt", content: "new\n" });
    expect(written).toMatchObject({
      execution: "succeeded",
      conflicts: [{ kind: "held_by", action_id: held.id, agent: "claude" }],
    });
    expect((await ask("GET", `/api/actions/${held.id}`)).body).toMatchObject({
      status: "pending",
      conflicts: [{ kind: "changed_by", action_id: written.id }],
    });
  });

  test("replacing a write that a person approved is no conflict", async () => {
    const { codex, claude, submit, write, ask } = await openTwo();
    const first = await write(codex, "held/a.txt", "by codex\n");
    await ask("POST", `/api/actions/${first}/approve`, {});
    const second = await submit(claude, "edit_file", {
      path: "held/a.txt",
      edits: [{ old_text: "codex", new_text: "claude" }],
    });
    expect(second).toMatchObject({ status: "pending", conflicts: [] });
  });

  test("an executed write conflicts with another session's held write to the file", async () => {
    const { codex, claude, submit, detail, gate } = await openTwo();
    gate.write(
      "gate.config.json",
      JSON.stringify({ id: "test", policies: { defaultEffect: "ask" } }),
    );
    const held = await submit(codex, "write_file", { path: "free.txt", content: "held\n" });
    gate.write("gate.config.json", JSON.stringify({ id: "test", policies: POLICIES }));
    const done = await submit(claude, "write_file", { path: "free.txt", content: "done\n" });
    expect(done).toMatchObject({
      execution: "succeeded",
      conflicts: [{ kind: "held_by", action_id: held.id }],
    });
    expect(await detail(held.id)).toMatchObject({
      conflicts: [{ kind: "changed_by", action_id: done.id }],
      base: { diff: expect.stringContaining("-free\n+done") },
    });
  });
});

const LINES = "one\ntwo\nthree\nfour\nfive\nsix\n";

describe("a held action whose file has changed since", () => {
  async function held(tool: string, input: Record<string, unknown>) {
    const around = await openTwo();
    around.gate.write("held/a.txt", LINES);
    const action = await around.submit(around.codex, tool, { path: "held/a.txt", ...input });
    const approve = (body: Record<string, unknown>, verb = "approve") =>
      around.ask("POST", `/api/actions/${action.id}/${verb}`, body);
    return { ...around, action, approve, look: () => around.detail(action.id) };
  }
  const EDIT = { edits: [{ old_text: "two\n", new_text: "TWO\n" }] };
  const WRITE = { content: LINES.replace("two", "TWO") };

  test("has no new base while the file is unchanged", async () => {
    const { look, approve, action } = await held("edit_file", EDIT);
    expect((await look()).base).toBeNull();
    const refused = await approve({ base_sha256: action.before_sha256 });
    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);
  });

  test.each([["edit_file", EDIT, "reapplied"], ["write_file", WRITE, "merged"]] as const)(
    "%s: can be approved on top of the file's current content",
    async (tool, input, how) => {
      const { gate, look, approve, read, ask, action } = await held(tool, input);
      gate.write("held/a.txt", LINES.replace("six", "SIX"));
      const { base, digest } = await look();
      expect(base).toMatchObject({
        was_sha256: action.before_sha256,
        diff: expect.stringContaining("-six\n+SIX"),
        rebased: { how, diff: expect.stringContaining("-two\n+TWO") },
      });
      // An approval must name the current content that the reviewer saw.
      const plain = await approve({ expected_digest: digest });
      expect([plain.status, plain.body.detail]).toEqual([409, expect.stringContaining("--rebase")]);
      const wrong = await approve({ base_sha256: "0".repeat(64) });
      expect(wrong.status).toBe(409);
      const done = await approve({ base_sha256: base.now_sha256, expected_digest: digest });
      expect([done.status, done.body.execution, done.body.edited]).toEqual([
        200,
        "succeeded",
        true,
      ]);
      expect(read("held/a.txt")).toBe(LINES.replace("two", "TWO").replace("six", "SIX"));
      expect(done.body).toMatchObject({ before_sha256: base.now_sha256 });
      await ask("POST", `/api/actions/${action.id}/rollback`, {});
      expect(read("held/a.txt")).toBe(LINES.replace("six", "SIX"));
    },
  );

  test.each([["edit_file", EDIT], ["write_file", WRITE]] as const)(
    "%s: asks the reviewer for an edited version when the change no longer applies",
    async (tool, input) => {
      const { gate, look, approve, read } = await held(tool, input);
      gate.write("held/a.txt", LINES.replace("two", "zwei"));
      const { base } = await look();
      expect(base).toMatchObject({
        rebased: null,
        next: expect.stringContaining("edited version"),
      });
      const refused = await approve({ base_sha256: base.now_sha256 });
      expect([refused.status, refused.body.detail]).toEqual([
        409,
        expect.stringContaining("use approve-with-edit"),
      ]);
      const own = { content: "by hand\n", base_sha256: base.now_sha256 };
      expect((await approve({ ...own, base_sha256: null }, "approve-with-edit")).status).toBe(409);
      const done = await approve(own, "approve-with-edit");
      expect([done.status, done.body.execution]).toEqual([200, "succeeded"]);
      expect(read("held/a.txt")).toBe("by hand\n");
    },
  );

  test.each([
    ["delete_file", { path: "held/a.txt" }, null],
    ["move_file", { from: "held/a.txt", to: "held/b.txt" }, "held/b.txt"],
  ])(
    "%s: applies to the current file once the approval names its hash",
    async (tool, input, to) => {
      const { gate, ask, codex, submit, detail, read } = await openTwo();
      gate.write("held/a.txt", LINES);
      const action = await submit(codex, tool, input);
      const approve = (body: Record<string, unknown>, verb = "approve") =>
        ask("POST", `/api/actions/${action.id}/${verb}`, body);
      const changed = LINES.replace("six", "SIX");
      gate.write("held/a.txt", changed);
      const { base, obstacle } = await detail(action.id);
      expect([base.diff, obstacle]).toEqual([expect.stringContaining("-six\n+SIX"), null]);
      expect(base).toMatchObject({
        rebased: { how: "reapplied", text: null, diff: null },
        next: expect.stringContaining("--rebase"),
      });
      expect((await approve({})).body.detail).toContain("--rebase");
      expect((await approve({ base_sha256: "0".repeat(64) })).status).toBe(409);
      const edit = { base_sha256: base.now_sha256, content: "x" };
      expect((await approve(edit, "approve-with-edit")).status).toBe(400);
      expect(read("held/a.txt")).toBe(changed);
      const done = await approve({ base_sha256: base.now_sha256 });
      expect(done).toMatchObject({ status: 200, body: { execution: "succeeded" } });
      expect(read("held/a.txt")).toBeNull();
      if (to) expect(read(to)).toBe(changed);
      expect((await ask("POST", `/api/actions/${action.id}/rollback`, {})).status).toBe(200);
      expect([read("held/a.txt"), read("held/b.txt")]).toEqual([changed, null]);
    },
  );

  test.each([
    ["delete_file", { path: "held/a.txt" }],
    ["move_file", { from: "held/a.txt", to: "held/b.txt" }],
  ])("%s: can only be rejected when its file no longer exists", async (tool, input) => {
    const { gate, ask, codex, submit, detail } = await openTwo();
    gate.write("held/a.txt", LINES);
    const action = await submit(codex, tool, input);
    rmSync(join(gate.root, "held/a.txt"));
    const { base } = await detail(action.id);
    expect(base).toMatchObject({ now_sha256: null, rebased: null });
    expect(base.next).toContain("reject it");
    const refused = await ask("POST", `/api/actions/${action.id}/approve`, { base_sha256: null });
    expect(refused).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect(refused.body.detail).toContain("no longer exists");
  });

  test("move_file: cannot be approved when its destination exists now", async () => {
    const { gate, ask, codex, submit, detail, read } = await openTwo();
    gate.write("held/a.txt", LINES);
    const { id } = await submit(codex, "move_file", { from: "held/a.txt", to: "held/b.txt" });
    gate.write("held/a.txt", "other\n");
    gate.write("held/b.txt", "in the way\n");
    const { base, obstacle } = await detail(id);
    expect(obstacle).toContain('"held/b.txt" exists now');
    const on = { base_sha256: base.now_sha256 };
    const refused = await ask("POST", `/api/actions/${id}/approve`, on);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining("exists now"),
    ]);
    expect([read("held/a.txt"), read("held/b.txt")]).toEqual(["other\n", "in the way\n"]);
  });

  test("cannot be approved when the policy now blocks it", async () => {
    const { gate, look, approve, read } = await held("edit_file", EDIT);
    const changed = LINES.replace("six", "SIX");
    gate.write("held/a.txt", changed);
    const { base } = await look();
    const policies = { ...POLICIES, blockedPaths: ["held/**"] };
    gate.write("gate.config.json", JSON.stringify({ id: "test", policies }));
    expect((await approve({ base_sha256: base.now_sha256 })).status).toBe(409);
    expect(read("held/a.txt")).toBe(changed);
  });
});

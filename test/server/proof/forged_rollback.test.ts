import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { testCaller } from "../../helpers.ts";
import { approve, forge, hold, open, type Stage } from "./forging.ts";
import { prove } from "./person.ts";

const sha = (text: string) => createHash("sha256").update(text).digest("hex");
const agent = testCaller("agent");
const FILES = { "a.txt": "old\n", "victim.txt": "precious\n" };

/** A content that the ledger keeps: of an action that changes nothing. */
async function keepEvil(stage: Stage): Promise<string> {
  await hold(stage.gate, "write_file", { path: "other.txt", content: "evil\n" });
  return sha("evil\n");
}

const rollBack = ({ send, person }: Stage, id: string) =>
  prove(send, person, ["POST", `/api/actions/${id}/rollback`, { on_conflict: "force" }]);

async function expectRefused(stage: Stage, id: string): Promise<void> {
  const response = await stage.send("POST", `/api/actions/${id}/rollback`, {
    on_conflict: "force",
  });
  expect(response.status).toBe(409);
  expect(await response.text()).toContain("not those in the log");
  const { root } = stage.gate;
  expect(readFileSync(join(root, "victim.txt"), "utf8")).toBe("precious\n");
  expect(existsSync(join(root, "new.txt"))).toBe(false);
}

/** A command that a person approved, and that changed a.txt. */
async function ranCommand(stage: Stage): Promise<string> {
  const { project, root } = stage.gate;
  const id = await hold(stage.gate, "run_command", { command: "cp other.txt a.txt" });
  expect((await approve(stage, id)).status).toBe(200);
  const claim = await project.actions.claim(id, {}, agent);
  writeFileSync(join(root, "other.txt"), "new\n");
  const { error: _, ...result } = await runCommand(claim.command, {
    ...{ cwd: root, timeout_ms: 20_000, max_output_bytes: 1_000 },
  });
  await project.actions.result(id, { claim_id: claim.claim_id, ...result }, agent);
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("new\n");
  return id;
}

const FORGERIES: [name: string, change: (root: string, hash: string) => string][] = [
  ["another file", (root) =>
    `input = json_set(input, '$.changes[0].path', '${root}/victim.txt',
      '$.changes[0].shown', 'victim.txt')`],
  [
    "another file under the shown name",
    (root) => `input = json_set(input, '$.changes[0].path', '${root}/victim.txt')`,
  ],
  [
    "another content",
    (_, hash) => `input = json_set(input, '$.changes[0].before.sha256', '${hash}')`,
  ],
  [
    "one more file",
    (root, hash) =>
      `input = json_insert(input, '$.changes[#]', json('${
        JSON.stringify({
          path: `${root}/new.txt`,
          shown: "new.txt",
          before: { sha256: hash, bytes: 5, mode: 0o644 },
          after: null,
        })
      }'))`,
  ],
];

test.each(FORGERIES)(
  "a write is not rolled back to %s that only its row names",
  async (_, change) => {
    const stage = await open({ files: FILES });
    const id = await hold(stage.gate);
    expect((await approve(stage, id)).status).toBe(200);
    const hash = await keepEvil(stage);
    await forge(stage.gate, `UPDATE actions SET ${change(stage.gate.root, hash)} WHERE id = ?`, [
      id,
    ]);
    await expectRefused(stage, id);
  },
);

test.each(FORGERIES)("a command is not rolled back to %s", async (_, change) => {
  const stage = await open({ files: FILES });
  const id = await ranCommand(stage);
  const hash = await keepEvil(stage);
  await forge(stage.gate, `UPDATE actions SET ${change(stage.gate.root, hash)} WHERE id = ?`, [id]);
  await expectRefused(stage, id);
});

test("what the log shows is rolled back", async () => {
  const stage = await open({ files: FILES });
  const id = await ranCommand(stage);
  expect((await rollBack(stage, id)).status).toBe(200);
  expect(readFileSync(join(stage.gate.root, "a.txt"), "utf8")).toBe("old\n");
});

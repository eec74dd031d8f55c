import { expect, test } from "vitest";
import { openSessions } from "./harness.ts";

test("files from their first state to their last, and action by action", async () => {
  const files = { "a.txt": "a0\n", "d.txt": "d0\n", "m.txt": "m0\n" };
  const { open, submit, write, diff } = await openSessions({ files });
  const session = await open("codex");
  const ids = [await write(session, "a.txt", "a1\n"), await write(session, "a.txt", "a2\n")];
  await write(session, "new.txt", "n\n");
  await submit(session, "delete_file", { path: "d.txt" });
  await submit(session, "move_file", { from: "m.txt", to: "n.txt" });
  await write(session, "n.txt", "m0\nm1\n");

  const { status, body } = await diff(session);
  expect(status).toBe(200);
  expect(body.files).toMatchObject([
    {
      path: "a.txt",
      change: "modified",
      renamed_from: null,
      action_ids: ids,
      patch: expect.stringMatching(/--- a\.txt\n\+\+\+ a\.txt\n.*\n-a0\n\+a2\n/),
    },
    { path: "new.txt", change: "created", before: null, patch: expect.stringContaining("+n\n") },
    { path: "d.txt", change: "deleted", after: null, patch: expect.stringContaining("/dev/null") },
    {
      path: "n.txt",
      change: "renamed",
      renamed_from: "m.txt",
      patch: expect.stringMatching(/--- m\.txt\n\+\+\+ n\.txt\n.*\n m0\n\+m1\n/),
    },
  ]);
  expect(body.files).toHaveLength(4);
  expect(body.actions).toHaveLength(6);
  expect(body.actions[1].files).toMatchObject([{ patch: expect.stringContaining("-a1\n+a2\n") }]);
  expect(body.actions[4].files).toMatchObject([{
    change: "renamed",
    path: "n.txt",
    renamed_from: "m.txt",
    patch: null,
    omitted: null,
  }]);
});

test("a rollback shows: nothing is left of the session as a whole", async () => {
  const { open, submit, write, back, diff } = await openSessions({ files: { m: "m" } });
  const session = await open("codex");
  await write(session, "a", "1");
  await submit(session, "move_file", { from: "m", to: "n" });
  await back(session);
  const { body } = await diff(session);
  expect(body.files).toEqual([]);
  expect(body.actions.map(({ tool }: { tool: string }) => tool))
    .toEqual(["write_file", "move_file", "rollback", "rollback"]);
});

test("binary and huge files are told by size and hash", async () => {
  const { gate, open, submit, write, diff } = await openSessions({ files: { big: "x" } });
  gate.write("bin", new Uint8Array([0, 1, 2]));
  const session = await open("codex");
  await submit(session, "write_file", { path: "bin", content: "AAEC/w==", encoding: "base64" });
  await write(session, "big", "y\n".repeat(400_000));
  const { body } = await diff(session);
  expect(body.files).toMatchObject([
    { path: "bin", patch: null, omitted: "binary", before: { bytes: 3 }, after: { bytes: 4 } },
    { path: "big", patch: null, omitted: "too_large", after: { bytes: 800_000 } },
  ]);
  expect(body.files[0].after.sha256).toMatch(/^[0-9a-f]{64}$/);
});

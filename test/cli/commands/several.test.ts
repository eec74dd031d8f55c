import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;

beforeAll(async () => {
  gated = await openGatedProject();
});

afterAll(() => gated.close());

const NONE = "ffffffff-ffff-4fff-8fff-ffffffffffff";

describe("with several ids", () => {
  test("approve sends one request, and tells each refusal with its id", async () => {
    const [a, b] = [await gated.write("s/a.txt", "a"), await gated.write("s/b.txt", "b")];
    const ended = await gated.terminal.run(["approve", a!.id, NONE, b!.id, a!.id]);
    expect(ended.code).toBe(1);
    expect(ended.stdout).toBe("✓ approved, succeeded: s/a.txt\n✓ approved, succeeded: s/b.txt\n");
    expect(ended.stderr).toContain(`no id begins with "${NONE}"`);
    expect([gated.onDisk("s/a.txt"), gated.onDisk("s/b.txt")]).toEqual(["a", "b"]);
  });

  test("more than one request may hold are approved in turns", async () => {
    const held = [];
    for (let i = 0; i < 27; i++) held.push(await gated.write(`many/${i}.txt`, `${i}`));
    const approved = await gated.json("approve", ...held.map(({ id }) => id), "--json");
    expect(approved.map(({ path }: { path: string }) => path)).toEqual(
      held.map(({ path }) => path),
    );
    expect(gated.onDisk("many/26.txt")).toBe("26");
  });

  test("each digest is of the id at its place", async () => {
    const [a, b] = [await gated.write("d/a.txt", "a"), await gated.write("d/b.txt", "b")];
    const ids = [a!.id, b!.id];
    const given = ["--digest", a!.digest, "--digest", "0".repeat(64)];
    for (const verb of [["approve"], ["reject", "--reason", "no"]]) {
      const few = await gated.terminal.run([...verb, ...ids, "--digest", a!.digest]);
      expect([few.code, few.stderr]).toEqual([64, expect.stringContaining("once for each id")]);
    }
    const ended = await gated.terminal.run(["approve", ...ids, ...given]);
    expect(ended).toMatchObject({ code: 1, stdout: "✓ approved, succeeded: d/a.txt\n" });
    expect(ended.stderr).toContain(b!.id);
    const rejected = await gated.terminal.run([
      ...["reject", b!.id, a!.id, "--reason", "no"],
      ...["--digest", b!.digest, "--digest", a!.digest],
    ]);
    expect(rejected).toMatchObject({ code: 1, stdout: "✓ rejected: d/b.txt\n" });
    expect(rejected.stderr).toContain("it is approved");
  });

  test("reject prints an array as JSON", async () => {
    const [a, b] = [await gated.write("r/a.txt", "a"), await gated.write("r/b.txt", "b")];
    const rejected = await gated.json("reject", a!.id, b!.id, "--reason", "later", "--json");
    expect(rejected).toMatchObject([
      { id: a!.id, status: "rejected", reason: "later" },
      { id: b!.id, status: "rejected", reason: "later" },
    ]);
  });

  test.each([
    [["reject", "--reason", "x"], "give ids, --session or --all"],
    [["reject", "0199a1b2", "--all", "--reason", "x"], "give ids, --session or --all"],
    [["reject", "xyz", "--reason", "x"], "4 to 36 hex digits"],
    [["approve", "0199a1b2", "zz"], "4 to 36 hex digits"],
    [
      ["approve", "0199a1b2", "0199a1b3", "--remember", "--digest", "a", "--digest", "b"],
      "--digest",
    ],
  ])("gate %j is wrong usage", async (args, part) => {
    const ended = await gated.terminal.run(args);
    expect([ended.code, ended.stderr]).toEqual([64, expect.stringContaining(part)]);
  });
});

test("an action that is named twice is approved once", async () => {
  const held = await gated.write("plain.txt", "x");
  const ended = await gated.terminal.run(["approve", held.id, held.id.slice(0, 35)]);
  expect(ended).toMatchObject({ code: 0, stdout: "✓ approved, succeeded: plain.txt\n" });
});

import { chmodSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ActionDetail, Claim } from "../../../../server/actions/schema.ts";
import { sha256 } from "../../../../server/db/chain.ts";
import { canonical } from "../../../../server/evidence/canonical.ts";
import { runCommand } from "../../../../server/runtime/spawn.ts";
import { createTestGate } from "../../../helpers.ts";

async function openGate() {
  const gate = await createTestGate({
    policies: { allowedCommands: ["cat", "sort", "echo", "say"], allowedPaths: ["out/**"] },
    files: { "b.txt": "b\n", "a.txt": "a\n", "bin/say": '#!/bin/sh\necho said "$@"\n' },
  });
  const say = join(gate.root, "bin", "say");
  chmodSync(say, 0o755);
  const search_path = `${join(gate.root, "bin")}:/usr/bin:/bin`;
  const call = async (path: string, body: object, scope?: "agent") => {
    const response = await gate.request("POST", path, body, scope);
    return { status: response.status, body: await response.json() };
  };
  const submit = async (command: string) =>
    (await call("/api/actions", { tool: "run_command", input: { command }, search_path }, "agent"))
      .body as ActionDetail;
  const claim = (id: string) => call(`/api/actions/${id}/claim`, {}, "agent");
  const show = async (id: string): Promise<ActionDetail> =>
    await (await gate.request("GET", `/api/actions/${id}`)).json();
  return { gate, say, call, submit, claim, show };
}

const run = async (claim: Claim) => {
  if (!claim.run) throw new Error("only a shell can run it");
  const { cwd, timeout_ms, max_output_bytes } = claim;
  // No folder of programs: every program is started by the path that was judged.
  const env = { PATH: "/nowhere", HOME: homedir() };
  return await runCommand(claim.command, {
    cwd,
    timeout_ms,
    max_output_bytes,
    env,
    proved: claim.run,
  });
};

describe("the claim of a proved command", () => {
  test("holds its words and its programs, and runs without a shell", async () => {
    const { submit, claim } = await openGate();
    const { id, status } = await submit(
      "cat *.txt | sort -r && say 'a b' > out/said; cat out/said",
    );
    expect(status).toBe("approved");
    const { body } = await claim(id);
    const { steps, programs }: NonNullable<Claim["run"]> = body.run;
    expect(steps.flatMap(({ stages }) => stages.map(({ argv }) => argv))).toEqual([
      ["cat", "a.txt", "b.txt"],
      ["sort", "-r"],
      ["say", "a b"],
      ["cat", "out/said"],
    ]);
    expect(programs.map(({ name }) => name)).toEqual(["cat", "say", "sort"]);
  });

  test("gives the output and the exit code that a shell would give", async () => {
    const { submit, claim } = await openGate();
    const { id } = await submit("cat *.txt | sort -r; say 'a b'; cat missing");
    const { exit_code, output } = await run((await claim(id)).body);
    expect({ exit_code, output: output.slice(0, 15) }).toEqual({
      exit_code: 1,
      output: "b\na\nsaid a b\nca",
    });
  });

  test("is refused when a program was replaced since it was judged", async () => {
    const { submit, claim, say, show } = await openGate();
    const { id } = await submit("say hello");
    writeFileSync(`${say}2`, "#!/bin/sh\necho evil\n", { mode: 0o755 });
    renameSync(`${say}2`, say);
    const { status, body } = await claim(id);
    expect({ status, code: body.code }).toEqual({ status: 409, code: "conflict" });
    expect(body.detail).toContain(`the program "${say}" has changed`);
    expect(await show(id)).toMatchObject({ execution: "failed" });
  });

  test("gives a program the files that its glob found when it was judged", async () => {
    const { gate, submit, claim } = await openGate();
    const { body } = await claim((await submit("cat *.txt")).id);
    writeFileSync(join(gate.root, "c.txt"), "c\n");
    expect((await run(body)).output).toBe("a\nb\n");
  });

  test("leaves what is not proved, and programs that are not there yet, to a shell", async () => {
    const { submit, claim, call } = await openGate();
    for (const command of ["cat {a,b}.txt", "later x"]) {
      const { id, status } = await submit(command);
      expect(status).toBe("pending");
      expect((await call(`/api/actions/${id}/approve`, {})).status).toBe(200);
      expect((await claim(id)).body.run, command).toBeNull();
    }
  });
});

test("an approval covers the programs of a held command", async () => {
  const { submit, claim, call, show, say } = await openGate();
  const held = await submit("say yes; date -u -d @0 +%Y");
  const { status, digest, signed } = await show(held.id);
  expect(status).toBe("pending");
  expect(signed?.programs?.map(({ name }) => name)).toEqual(["date", "say"]);
  expect(sha256(canonical(signed))).toBe(digest);
  expect((await call(`/api/actions/${held.id}/approve`, { expected_digest: digest })).status)
    .toBe(200);
  const { body } = await claim(held.id);
  expect(await run(body)).toMatchObject({ exit_code: 0, output: "said yes\n1970\n" });

  const again = await submit("say more; date -u");
  writeFileSync(say, "#!/bin/sh\necho other\n");
  const refused = await call(`/api/actions/${again.id}/approve`, {});
  const claimed = refused.status === 200 ? await claim(again.id) : refused;
  expect(claimed).toMatchObject({ status: 409, body: { code: "conflict" } });
});

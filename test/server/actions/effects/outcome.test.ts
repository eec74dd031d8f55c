import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { createTempFolder } from "../../../temp_folder.ts";
import { agent, reviewer, sha } from "../harness.ts";
import { FILES, openCommands, RESULT } from "./open_commands.ts";
import { diffSession } from "../../../../server/sessions/diff.ts";
import { rollbackSession } from "../../../../server/sessions/rollback.ts";

const REVERSIBLE: [command: string, kept: number][] = [
  ["rm a.txt", 1],
  ["rm -rf dir", 2],
  ["rm *.log && rm -f none.txt", 2],
  ["mv a.txt z.txt", 1],
  ["mv a.txt b.txt dir/", 2],
  ["mv dir other", 2],
  ["cp -r dir copy", 0],
  ["cp -r dir/. .", 4],
  ["echo more >> a.txt; echo new > new/../n.txt", 1],
  ["sed -i s/one/1/ a.txt", 1],
  ["mkdir -p made/for/it && echo x > made/for/it/f", 0],
  ["mkdir only", 0],
  ["rmdir empty", 0],
  ["chmod 755 a.txt", 1],
  ["chmod -R 700 dir/deep", 1],
  ["cd dir && rm c.txt; rm -f b.txt", 1],
  ["for f in x y; do rm $f.log; done", 2],
  ["find . -name '*.log' -delete", 6],
  ["bash -c 'rm a.txt'", 1],
  ["truncate -s 0 a.txt && touch t", 1],
  ["rm a.txt; exit 3", 1],
  ["cat a.txt b.txt | tee dir/c.txt > out.txt", 1],
];

describe("a command whose files are all known", () => {
  test.each(REVERSIBLE)(
    "%s: a rollback restores every byte, and rolling that back redoes the command",
    async (command, least) => {
      const { gate, run, tree, back, actions, at } = await openCommands();
      mkdirSync(at("empty"));
      chmodSync(at("b.txt"), 0o600);
      chmodSync(at("dir/deep"), 0o750);
      const before = tree();
      const { asked, done } = await run(command);
      expect(asked).toMatchObject({ reversibility: { level: "reversible" }, reversible: true });
      expect(asked.reversibility!.kept).toBeGreaterThanOrEqual(least);
      expect(done).toMatchObject({ reversibility: { level: "reversible" }, reversible: true });
      const after = tree();
      expect(after).not.toEqual(before);
      const { rollback, outcome } = await back(done.id);
      expect([outcome, tree()]).toEqual(["restored", before]);
      expect((await actions.get(done.id)).status).toBe("rolled_back");
      await back(rollback!.id);
      expect(withoutFolderModes(tree())).toEqual(withoutFolderModes(after));
      expect((await actions.get(done.id)).status).toBe("approved");
      expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
    },
  );
});

// A rollback of a rollback restores a folder by name, not by mode.
function withoutFolderModes(tree: Record<string, string>) {
  return Object.fromEntries(
    Object.entries(tree).map(([path, is]) => [path, is.endsWith(" /") ? "/" : is]),
  );
}

describe("a held command tells how much of it can be rolled back", () => {
  test.each<[command: string, level: string, why: RegExp]>([
    ["ls -la", "reversible", /changes no file/],
    ["npm test", "not", /other effects of "npm" are unknown/],
    ["curl https://example.org", "not", /"curl" uses the network/],
    ["curl -o a.txt https://example.org", "partly", /"curl" uses the network/],
    ["kill 1234567", "not", /"kill" acts on other processes/],
    ["rm $UNKNOWN", "not", /value of "\$UNKNOWN" is unknown/],
    ["rm a.txt; make", "partly", /other effects of "make" are unknown/],
    ["rm link", "not", /"link" is no regular file/],
    ["rm a.txt link", "partly", /"link" is no regular file/],
    ["rm big.bin", "not", /"big.bin" \(300 bytes\) is larger than maxBlobBytes/],
    ["rm -rf many", "partly", /more than 1000 files/],
    ["sleep 5 && rm a.txt &", "partly", /keeps running in the background/],
    ["sudo rm a.txt", "partly", /other effects of "sudo" are unknown/],
    ["python3 x.py > out.txt", "partly", /other effects of "python3" are unknown/],
  ])("%s: %s", async (command, level, why) => {
    const { gate, submit, at, actions } = await openCommands({
      policies: { defaultEffect: "ask", maxBlobBytes: 200 },
    });
    symlinkSync("a.txt", at("link"));
    gate.write("big.bin", "x".repeat(300));
    if (command.includes("many")) {
      for (let n = 0; n < 1_100; n++) gate.write(`many/${n}`, `${n}`);
    }
    const held = await submit("run_command", { command });
    expect(held).toMatchObject({ status: "pending", reversibility: { level } });
    expect(held.reversibility!.why).toMatch(why);
    expect(await actions.detail(held.id)).toMatchObject({ reversibility: held.reversibility });
  });
});

describe.skipIf(process.platform !== "linux")("a file whose name is not UTF-8", () => {
  const touch = String.raw`touch "$(printf '\xff\xfe')"`;

  test("that a command made is in its record, and the rollback says that it left it", async () => {
    const { gate, run, back } = await openCommands();
    const { asked, done } = await run(`rm a.txt && ${touch}`);
    for (const { reversibility } of [asked, done]) {
      expect(reversibility).toMatchObject({
        level: "partly",
        why: expect.stringMatching(/"\S*\ufffd{2}" has a name that is not UTF-8/),
      });
    }
    const { left } = await back(done.id, { dry_run: true });
    expect(left).toBe(done.reversibility!.why);
    const { outcome, left: remaining } = await back(done.id);
    expect([outcome, remaining]).toEqual(["restored", left]);
    expect(readdirSync(gate.root)).toContain("\ufffd\ufffd");
  });

  test("that a command copied below a new folder is in its record too", async () => {
    const { gate, run, back } = await openCommands();
    spawnSync("bash", ["-c", touch], { cwd: gate.root + "/dir" });
    const { done } = await run("cp -r dir copy");
    expect(done.reversibility).toMatchObject({
      level: "partly",
      why: expect.stringContaining('"copy/\ufffd\ufffd" has a name that is not UTF-8'),
    });
    expect((await back(done.id)).left).toContain("copy/");
  });

  test("that a session's rollback leaves is told for its action", async () => {
    const { gate, run } = await openCommands();
    const { done } = await run(`rm a.txt && ${touch}`);
    for (const dry_run of [true, false]) {
      const { actions } = await rollbackSession(
        gate.project,
        done.session_id,
        { dry_run },
        reviewer,
      );
      expect(actions).toMatchObject([{ action_id: done.id, left: done.reversibility!.why }]);
    }
  });

  test("that a pattern does not match is no effect of the command", async () => {
    const { gate, run } = await openCommands();
    spawnSync("bash", ["-c", touch], { cwd: gate.root });
    expect((await run("rm *.log")).done.reversibility).toMatchObject({ level: "reversible" });
  });
});

describe("the snapshots of a command's files", () => {
  test("hold the content at the claim, not at the submission", async () => {
    const { gate, submit, claim, finish, back, read } = await openCommands();
    const { id } = await submit("run_command", { command: "rm a.txt" });
    gate.write("a.txt", "changed meanwhile");
    const { claim_id } = await claim(id);
    await finish(id, claim_id, "rm a.txt");
    await back(id);
    expect(read("a.txt")).toBe("changed meanwhile");
  });

  test("roll back a command that never reported its result", async () => {
    const { gate, submit, claim, actions, back, read, at } = await openCommands({
      policies: { defaultEffect: "allow", commandTimeoutSeconds: 10 },
    });
    const { id } = await submit("run_command", { command: "rm -rf dir" });
    await claim(id);
    rmSync(at("dir/deep"), { recursive: true });
    gate.clock.advance(100_000);
    await actions.expireDue();
    expect(await actions.get(id)).toMatchObject({ execution: "unknown", reversible: true });
    await back(id);
    expect(read("dir/deep/d.txt")).toBe("dee");
  });

  test("roll back a command that ran while the daemon restarted", async () => {
    const { gate, submit, claim, at, read } = await openCommands();
    const { id } = await submit("run_command", { command: "rm a.txt b.txt" });
    const { claim_id } = await claim(id);
    rmSync(at("a.txt"));
    await gate.reopen();
    const { actions } = gate.project;
    expect(await actions.get(id)).toMatchObject({ execution: "unknown", reversible: true });
    // The command continues during the restart and reports afterwards.
    rmSync(at("b.txt"));
    await actions.result(id, { ...RESULT, claim_id, exit_code: 0 }, agent);
    const { changes } = await actions.rollback(id, {}, reviewer);
    expect(changes.map(({ path }) => path).sort()).toEqual(["a.txt", "b.txt"]);
    expect([read("a.txt"), read("b.txt")]).toEqual([FILES["a.txt"], "bee"]);
  });

  test("never replace a file that has changed since: 409 with hashes and a diff", async () => {
    const { gate, run, back, read } = await openCommands();
    const { done } = await run("sed -i s/one/1/ a.txt && rm b.txt");
    gate.write("a.txt", "1\ntwo\nthree by hand\n");
    await expect(back(done.id)).rejects.toMatchObject({
      code: "conflict",
      fields: {
        conflicts: [{
          path: "a.txt",
          left_sha256: sha("1\ntwo\n"),
          before_sha256: sha("one\ntwo\n"),
        }],
        diff: expect.stringContaining("+three by hand"),
      },
    });
    expect(existsSync(join(gate.root, "b.txt"))).toBe(false);
    const { outcome } = await back(done.id, { on_conflict: "merge" });
    expect([outcome, read("a.txt"), read("b.txt")]).toEqual([
      "merged",
      "one\ntwo\nthree by hand\n",
      "bee",
    ]);
  });

  test("exclude a file that another action wrote while the command ran", async () => {
    const { submit, write, claim, finish, back, read } = await openCommands();
    const { id } = await submit("run_command", { command: "rm a.txt b.txt" });
    const { claim_id } = await claim(id);
    await write("a.txt", "by another action\n");
    const done = await finish(id, claim_id, "rm b.txt");
    expect(done.reversibility).toMatchObject({
      level: "partly",
      why: '"a.txt" was changed by another action meanwhile',
    });
    await back(id);
    expect([read("a.txt"), read("b.txt")]).toEqual(["by another action\n", "bee"]);
  });

  test("never let a rollback delete an earlier file that has no snapshot", async () => {
    const { gate, run, back, at } = await openCommands({
      policies: { defaultEffect: "allow", maxBlobBytes: 200 },
    });
    gate.write("dir/big.bin", "x".repeat(300));
    const { done } = await run("cp -r dir/. dir; echo x > dir/new.txt && chmod -R u+x dir");
    expect(done.reversibility!.level).toBe("partly");
    await back(done.id);
    expect([existsSync(at("dir/new.txt")), existsSync(at("dir/big.bin"))]).toEqual([false, true]);
  });

  test("name no file of a folder to which a command put a link", async () => {
    const { gate, submit, claim, finish, back, at } = await openCommands();
    const elsewhere = createTempFolder("gate-elsewhere-");
    for (const name of ["c.txt", "key.txt"]) writeFileSync(join(elsewhere, name), `secret ${name}`);
    const asked = await submit("run_command", {
      command: "echo x > dir/key.txt; echo y > dir/c.txt; echo z > a.txt",
    });
    const { claim_id } = await claim(asked.id);
    const script = `mv dir away; ln -s ${elsewhere} dir; echo z > a.txt`;
    const done = await finish(asked.id, claim_id, script);
    const { changes } = await gate.project.actions.detail(asked.id);
    expect(changes.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(done.reversibility).toMatchObject({ level: "partly" });
    for (const name of ["c.txt", "key.txt"]) {
      const kept = await gate.project.ledger.all("SELECT 1 FROM blobs WHERE sha256 = ?", [
        sha(`secret ${name}`),
      ]);
      expect(kept).toEqual([]);
    }
    await back(asked.id);
    expect(readFileSync(at("a.txt"), "utf8")).toBe(FILES["a.txt"]);
    expect(readdirSync(elsewhere).sort()).toEqual(["c.txt", "key.txt"]);
  });

  test("keep a created folder that now holds another file", async () => {
    const { gate, run, back, at } = await openCommands();
    const { done } = await run("mkdir -p made/sub && echo x > made/sub/f");
    gate.write("made/mine.txt", "mine");
    await back(done.id);
    expect(readdirSync(at("made"))).toEqual(["mine.txt"]);
  });

  test("are required: a claim is refused when less can be rolled back than at the approval", async () => {
    const { gate, submit, claim, actions } = await openCommands({
      policies: { defaultEffect: "ask", maxBlobBytes: 200 },
    });
    const { id } = await submit("run_command", { command: "rm a.txt" });
    await actions.approve(id, {}, reviewer);
    gate.write("a.txt", "x".repeat(300));
    await expect(claim(id)).rejects.toMatchObject({ code: "conflict" });
    expect(await actions.get(id)).toMatchObject({
      execution: "failed",
      reversible: false,
      error: expect.stringContaining("less of it can be rolled back than at its approval"),
    });
    await expect(actions.rollback(id, {}, reviewer)).rejects.toMatchObject({ code: "conflict" });
  });

  test("do not exist for a command that changed no file", async () => {
    const { run, back } = await openCommands();
    const { done } = await run("ls");
    expect(done).toMatchObject({ reversible: false, reversibility: { why: "It changes no file" } });
    await expect(back(done.id)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("it changed no file"),
    });
  });

  test("count in the session's diff, rollback and rollback state", async () => {
    const { gate, run, write, tree } = await openCommands();
    const before = tree();
    const first = await write("a.txt", "written\n");
    await run("sed -i s/written/edited/ a.txt && mv b.txt moved.txt; exit 1");
    await write("c.txt", "last\n");
    const { session_id } = first;
    const { files } = await diffSession(gate.project, session_id);
    expect(files.map(({ path, change, renamed_from }) => [path, change, renamed_from])).toEqual([
      ["a.txt", "modified", null],
      ["moved.txt", "renamed", "b.txt"],
      ["c.txt", "created", null],
    ]);
    expect(files[0]!.patch).toContain("+edited");
    const result = await rollbackSession(gate.project, session_id, {}, reviewer);
    expect(result).toMatchObject({ rollback_state: "full", skipped: [] });
    expect(result.actions).toHaveLength(3);
    expect(tree()).toEqual(before);
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
  });
});

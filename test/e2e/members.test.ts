import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { must, type Subject, World } from "./world.ts";

const SUBJECT = (process.env["GATE_TEST_SUBJECT"] ?? "executable") as Subject;
const PASSPHRASES = {
  owner: "correct horse battery",
  ann: "another good passphrase",
  ben: "a third one of several words",
};

test("two members with two passphrases reach a quorum of two, over restarts and a lost gate.db", {
  timeout: 180_000,
}, async () => {
  const world = await World.create(SUBJECT, { proof: "none" });
  onTestFinished(() => world.close());
  await world.init({ defaultEffect: "ask" });
  const given = (lines: string[], ...args: string[]) =>
    world.run([...args, "--passphrase-stdin"], { input: `${lines.join("\n")}\n` });
  const { owner, ann, ben } = PASSPHRASES;
  must(await given([owner], "proof", "set"));
  for (const name of ["Ann", "Ben"]) must(await given([owner], "team", "add", name));
  must(await given([owner, ann], "proof", "set", "--member", "ann"));
  const { stdout: link } = must(await given([owner], "team", "link", "ben", "--no-open"));
  must(await given([ben], "proof", "set", "--member", "ben", "--link", link.trim()));
  const route = ["route", "add", "Two", "--member", "ann", "--member", "ben", "--quorum", "2"];
  must(await given([owner], ...route));

  const hold = async (path: string): Promise<string> => {
    const input = { path, content: "x\n" };
    const { body } = await world.api("POST", "/api/actions", { tool: "write_file", input });
    expect(body.status).toBe("pending");
    return body.id;
  };
  const isThere = (path: string) => existsSync(join(world.project, path));
  const first = await hold("a.txt");
  must(await given([ann], "approve", first, "--as", "ann"));
  must(await given([ann], "approve", first, "--as", "ann"));
  expect(isThere("a.txt")).toBe(false);
  // Neither the owner's nor Ann's passphrase is Ben's.
  for (const other of [owner, ann]) {
    expect((await given([other], "approve", first, "--as", "ben")).code).toBe(1);
  }
  expect(isThere("a.txt")).toBe(false);
  must(await world.run(["daemon", "stop"]));
  must(await given([ben], "approve", first, "--as", "ben"));
  expect(isThere("a.txt")).toBe(true);
  must(await world.run(["audit", "verify"]));
  const bundle = join(world.folder, "evidence.html");
  must(await world.run(["audit", "export", "--bundle", bundle]));
  must(await world.run(["audit", "verify", bundle]));

  // Another program deletes gate.db: nobody decides until the owner takes the home back.
  must(await world.run(["daemon", "stop"]));
  for (const end of ["", "-wal", "-shm"]) {
    rmSync(join(world.gateHome, `gate.db${end}`), { force: true });
  }
  must(await world.run(["daemon", "start"]));
  const second = await hold("b.txt");
  const refused = await given([ann], "approve", second, "--as", "ann");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("gate.db")]);
  expect(isThere("b.txt")).toBe(false);
  must(await given([owner, "a new passphrase of the owner"], "proof", "change"));
  const status = must(await world.run(["proof", "status", "--member", "ben"])).stdout;
  expect(status).toContain("with the rights of a reviewer");
});

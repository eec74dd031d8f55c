import { afterEach, beforeEach, expect, test } from "vitest";
import type { Ended } from "../terminal.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

const OWNER = "correct horse battery";
const ANN = "another good passphrase";
const BEN = "a third one of several words";

let gated: GatedProject;
beforeEach(async () => {
  gated = await openGatedProject("none");
  gated.terminal.env.NO_COLOR = "1";
  await done(given(`${OWNER}\n`, "proof", "set"));
  for (const name of ["Ann", "Ben"]) await done(given(`${OWNER}\n`, "team", "add", name));
});
afterEach(() => gated.close());

/** Runs a command whose passphrases come from standard input. */
function given(input: string, ...args: string[]): Promise<Ended> {
  return gated.terminal.run([...args, "--passphrase-stdin"], { input });
}

async function done(running: Promise<Ended>): Promise<Ended> {
  const ended = await running;
  expect(ended).toMatchObject({ code: 0 });
  return ended;
}

const setFor = (member: string, passphrase: string) =>
  given(`${OWNER}\n${passphrase}\n`, "proof", "set", "--member", member);

test("two members with two passphrases reach a quorum of two at one terminal", async () => {
  await done(setFor("ann", ANN));
  await done(setFor("ben", BEN));
  await done(
    given(
      `${OWNER}\n`,
      "route",
      "add",
      "Two",
      "--member",
      "ann",
      "--member",
      "ben",
      "--quorum",
      "2",
    ),
  );
  const { id } = await gated.write("a.txt", "a");
  const first = await given(`${ANN}\n`, "approve", id, "--as", "ann");
  expect(first.stdout).toContain("your approval is recorded");
  const have = async () => (await gated.json("show", id, "--json")).approvals.have;
  expect([await have(), gated.onDisk("a.txt")]).toEqual([1, null]);
  await given(`${ANN}\n`, "approve", id, "--as", "ann");
  expect([await have(), gated.onDisk("a.txt")]).toEqual([1, null]);
  const wrong = await given(`${ANN}\n`, "approve", id, "--as", "ben");
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("passphrase is wrong") });
  await done(given(`${BEN}\n`, "approve", id, "--as", "ben"));
  expect(gated.onDisk("a.txt")).toBe("a");
  const { events } = await gated.json("audit", "export", "--format", "json");
  const votes = events.filter(({ type }: { type: string }) => type === "vote.cast");
  expect(votes.map(({ actor }: { actor: { id: string } }) => actor.id)).toEqual(["ann", "ben"]);
  await gated.good("audit", "verify");
});

test("a member sets their passphrase with the link alone, changes it and loses it", async () => {
  const link = await done(given(`${OWNER}\n`, "team", "link", "ann", "--no-open"));
  const url = link.stdout.trim();
  expect(url).toMatch(/^http:\/\/localhost:\d+\/login\?code=[\w-]+&invitation=[\w-]{43}$/);
  await done(given(`${ANN}\n`, "proof", "set", "--member", "ann", "--link", url));
  const again = await given(`${BEN}\n`, "proof", "set", "--member", "ann", "--link", url);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("was used already") });
  expect((await gated.good("proof", "status")).stdout).toContain("ann set a passphrase on");
  expect((await gated.json("proof", "status", "--member", "ann", "--json")).enrolled)
    .toMatchObject([{ member_id: "ann", role: "reviewer" }]);
  const nobody = await gated.terminal.run(["proof", "status", "--member", "ben"]);
  expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("gate team link ben") });
  await done(given(`${ANN}\n${BEN}\n`, "proof", "change", "--member", "ann"));
  const { id } = await gated.write("a.txt", "a");
  expect((await given(`${ANN}\n`, "approve", id, "--as", "ann")).code).toBe(1);
  await done(given(`${OWNER}\n`, "proof", "remove", "--member", "ann"));
  const gone = await given(`${BEN}\n`, "approve", id, "--as", "ann");
  expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining('"ann" has no key') });
  expect(gated.onDisk("a.txt")).toBeNull();
  await done(given(`${OWNER}\n`, "approve", id));
});

const REFUSED: [string, string[], number, string][] = [
  ["a link without a member", ["proof", "set", "--link", "x"], 64, "without --member"],
  ["no link", ["proof", "set", "--member", "ann", "--link", "http://x/"], 1, "no login link"],
  ["a stranger", ["proof", "set", "--member", "eve"], 1, 'Cannot find member "eve"'],
  ["an action that is none", ["approve", "0199a1b2", "--as", "a b"], 1, "Cannot find"],
  ["a change without a key", ["proof", "change", "--member", "ann"], 1, "none is set"],
];

test("bad input is refused in words", async () => {
  for (const [name, args, code, why] of REFUSED) {
    const ended = await given(`${OWNER}\n${ANN}\n`, ...args);
    expect([name, ended.code, ended.stderr]).toEqual([name, code, expect.stringContaining(why)]);
  }
});

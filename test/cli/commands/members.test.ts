import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../../e2e/world.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

const OWNER = "correct horse battery";
const ANN = "another good passphrase";
const BEN = "a third one of several words";

let gated: GatedProject;

/** Runs a command that reads these passphrases from standard input. */
const given = (lines: string[], ...args: string[]) =>
  gated.terminal.run([...args, "--passphrase-stdin"], { input: `${lines.join("\n")}\n` });

async function must(lines: string[], ...args: string[]): Promise<string> {
  const ended = await given(lines, ...args);
  expect(ended, args.join(" ")).toMatchObject({ code: 0 });
  return ended.stdout;
}

beforeAll(async () => {
  gated = await openGatedProject("none");
  await must([OWNER], "proof", "set");
  await must([OWNER], "team", "add", "Ann", "--role", "admin");
  await must([OWNER], "team", "add", "Ben");
  await must([OWNER, ANN], "proof", "set", "--member", "ann");
  await must([OWNER, BEN], "proof", "set", "--member", "ben");
});

afterAll(() => gated.close());

/** The recorded changes of the team and its routes, with the person of each. */
async function changesBy(id: string): Promise<string[]> {
  const { events } = await gated.json("api", "GET", "/api/audit/export?format=json&project=web");
  type Event = { type: string; actor: { id: string } };
  return (events as Event[])
    .filter(({ type, actor }) => /^(?:member|route)\./.test(type) && actor.id === id)
    .map(({ type }) => type);
}

test("a member changes the team and the routes at this terminal with --as", async () => {
  const asAnn = (...args: string[]) => must([ANN], ...args, "--as", "ann");
  await asAnn("team", "add", "Cy", "--role", "reviewer", "--json");
  await asAnn("team", "change", "cy", "--role", "viewer");
  await asAnn("team", "remove", "cy");
  await asAnn("route", "add", "Docs", "--path", "docs/**", "--member", "ben");
  await asAnn("route", "change", "docs", "--name", "Papers");
  await asAnn("route", "remove", "docs");
  await asAnn("team", "accept");
  expect(await changesBy("ann")).toEqual([
    "member.added",
    "member.changed",
    "member.removed",
    "route.added",
    "route.changed",
    "route.removed",
  ]);
});

test.each([
  ["team", "add", "Dan"],
  ["team", "change", "ben", "--role", "admin"],
  ["team", "remove", "ann"],
  ["route", "add", "X", "--member", "ben"],
])("gate %s %s … --as a reviewer is refused", async (...args) => {
  const ended = await given([BEN], ...args, "--as", "ben");
  expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining("your role is reviewer")]);
});

test("nobody acts as a member with another passphrase, nor as somebody unknown", async () => {
  const other = await given([OWNER], "team", "remove", "ben", "--as", "ann");
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("passphrase is wrong")]);
  const unknown = await given([OWNER], "team", "remove", "ben", "--as", "eve");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("eve")]);
});

test("several ids are approved with one passphrase and one signature for each", async () => {
  const held = [];
  for (const path of ["k1.txt", "k2.txt", "k3.txt"]) held.push(await gated.write(path, path));
  const approved = await given([OWNER], "approve", ...held.map(({ id }) => id));
  expect(approved).toMatchObject({ code: 0 });
  expect(approved.stdout.match(/✓ approved, succeeded/g)).toHaveLength(3);
  const wrong = [await gated.write("k4.txt", "4"), await gated.write("k5.txt", "5")];
  const refused = await given([BEN], "approve", ...wrong.map(({ id }) => id));
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(gated.onDisk("k4.txt")).toBeNull();
  for (const { id } of wrong) await gated.good("reject", id, "--reason", "no");
});

test("watch does not offer an action again for which this person has voted", async () => {
  await must([OWNER], "route", "add", "Two", "--member", "ann", "ben", "--quorum", "2");
  const voted = await gated.write("voted.txt", "v");
  const fresh = await gated.write("fresh.txt", "f");
  await must([ANN], "approve", voted.id, "--as", "ann");
  const watching = gated.terminal.run(["watch", "--as", "ann"], { person: true });
  const seen = (text: string) =>
    until(`"${text}" is shown`, () => gated.terminal.printed().includes(text));
  await seen(fresh.id);
  await seen("Approve this action?");
  expect(gated.terminal.printed()).not.toContain(voted.id);
  gated.terminal.type("q");
  expect((await watching).code).toBe(0);
  // Ben has not voted, so both are his.
  const other = gated.terminal.run(["watch", "--as", "ben"], { person: true });
  await seen(voted.id);
  await seen("(1 of 2 held actions)");
  gated.terminal.type("q");
  expect((await other).code).toBe(0);
  // Programs still read every held action.
  const printing = gated.terminal.run(["watch", "--json"]);
  await seen(voted.id);
  gated.terminal.signal("SIGINT");
  expect((await printing).stdout).toContain(fresh.id);
});

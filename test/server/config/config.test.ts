import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NewEvent } from "../../../server/db/ledger.ts";
import { setOverrideTrust } from "../../../server/config/trust.ts";
import { Config } from "../../../server/config/config.ts";

let base: string;
let recorded: NewEvent[];
beforeEach(() => {
  recorded = [];
  base = realpathSync(mkdtempSync(join(tmpdir(), "gate-config-")));
  mkdirSync(join(base, "home"));
  mkdirSync(join(base, "proj"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const project = (text: string) => writeFileSync(join(base, "proj/gate.config.json"), text);
const global = (text: string) => writeFileSync(join(base, "home/config.json"), text);
const open = () =>
  new Config({
    project_id: "p",
    roots: [join(base, "proj")],
    port: 47000,
    record: (event) => {
      recorded.push(event);
      return Promise.resolve();
    },
    environment: { home: join(base, "home"), now: () => 0, id: () => "id", log: () => {} },
  });
const REVIEWER = { scope: "reviewer", id: "ada", member_id: "ada", via: "token" } as const;
const effect = async (config: Config, path: string) =>
  (await config.test({ path, action: "write" })).effect;

describe("Config", () => {
  test("without any file the default is ask", async () => {
    expect(await effect(open(), "a.ts")).toBe("ask");
  });

  test("reads comments and trailing commas, and reads again when the file has changed", async () => {
    project(`{ "id": "p", // why\n "policies": { "defaultEffect": "allow", }, }`);
    const config = open();
    expect(await effect(config, "a.ts")).toBe("allow");
    project(`{ "id": "p", "policies": { "defaultEffect": "allow", "blockedPaths": ["*.ts"] } }`);
    expect(await effect(config, "a.ts")).toBe("deny");
  });

  test.each([
    [`{ "id": "p",\n  "policies": {,} }`, "gate.config.json:2:16"],
    [`{\n  "policies": {\n    "defaultEffect": "perhaps"\n  }\n}`, "gate.config.json:3:22"],
    [`{ "policies": { "blockedPaths": ["a", 7] } }`, "gate.config.json:1:39"],
    [`{ "id": "a", "id": "b" }`, "twice"],
    ["", "empty"],
    [
      `{ "policies": {\n  "blockedPath": ["secret/**"] } }`,
      `gate.config.json:2:3: "blockedPath" has no effect: did you mean "blockedPaths"?`,
    ],
    [`{ "policy": { "blockedPaths": ["x"] } }`, `did you mean "policies"?`],
    [`{ "policies": { "denyCommands": ["rm"] } }`, `did you mean "blockedCommands"?`],
    [`{ "policies": { "default_effect": "deny" } }`, `did you mean "defaultEffect"?`],
    [`{ "policies": { "blokcedTools": ["x"] } }`, `did you mean "blockedTools"?`],
    [
      `{ "policies": { "allowedTools": [{ "pattern": "x", "arg": { "a": "b" } }] } }`,
      `gate.config.json:1:52: "arg" has no effect: did you mean "args"?`,
    ],
    [`{ "policies": { "blockedPaths": [{ "pattern": "x", "notMatch": ["x"] }] } }`, "not_match"],
    [`{ "policies": { "blockedPaths": ["{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"] } }`, "braces"],
    [
      `{ "policies": { "blockedPaths": [{ "pattern": "*.pem", "match": ["key.txt"] }] } }`,
      `The example "key.txt" of "*.pem" should match but does not`,
    ],
  ])("denies everything while the config is broken: %s", async (text, told) => {
    project(text);
    const config = open();
    const answer = await config.test({ path: "a.ts", action: "write" });
    expect(answer.effect).toBe("deny");
    expect(answer.reason).toContain(told);
    expect((await config.view()).error).toContain(told);
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    expect(await effect(config, "a.ts")).toBe("allow");
  });

  test("a broken global config denies too, and names its file", async () => {
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    global("{");
    const answer = await open().test({ path: "a.ts", action: "write" });
    expect(answer).toMatchObject({ effect: "deny" });
    expect(answer.reason).toContain("config.json:1:");
  });

  test("a policy that has been seen may not vanish", async () => {
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    const config = open();
    expect(await effect(config, "a.ts")).toBe("allow");
    rmSync(join(base, "proj/gate.config.json"));
    expect(await effect(config, "a.ts")).toBe("deny");
    expect(await effect(config, "a.ts")).toBe("deny");
  });

  test("overrideGlobal counts only once a person has trusted it", async () => {
    global(`{ "policies": { "blockedPaths": ["*.ts"] } }`);
    project(`{ "overrideGlobal": true, "policies": { "defaultEffect": "allow" } }`);
    const config = open();
    expect(await effect(config, "a.ts")).toBe("deny");
    const view = await config.view();
    expect(view.effective.override_global).toBe("untrusted");
    expect(view.warnings.join(" ")).toMatch(/no "id".*trust-override/s);
    setOverrideTrust(join(base, "home"), "p", true);
    expect(await effect(config, "a.ts")).toBe("allow");
    expect((await config.view()).effective.override_global).toBe("trusted");
    setOverrideTrust(join(base, "home"), "p", false);
    expect(await effect(config, "a.ts")).toBe("deny");
  });

  test("the view says where each rule comes from", async () => {
    global(`{ "policies": { "blockedPaths": [".env"], "maxBashOutputBytes": 10 } }`);
    project(
      `{ "id": "p", "policies": { "askCommands": [{ "pattern": "npm *", "reason": "why" }] } }`,
    );
    const { effective, etag } = await open().view();
    expect(effective.rules).toEqual([
      { pattern: ".env", list: "blockedPaths", source: "global", reason: null, alternative: null },
      {
        pattern: "npm *",
        list: "askCommands",
        source: "project",
        reason: "why",
        alternative: null,
      },
    ]);
    expect(effective.limits.maxBashOutputBytes).toBe(10);
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
  });

  test("a task is judged by its text, but what only the default would hold passes", async () => {
    project(
      `{ "id": "p", "policies": { "allowedCommands": ["npm run"], "blockedCommands": ["rm -rf"] } }`,
    );
    writeFileSync(
      join(base, "proj/package.json"),
      JSON.stringify({ scripts: { clean: "rm -rf dist", build: "tsc && cp a.js out.js" } }),
    );
    const config = open();
    const answer = async (command: string) => (await config.test({ command })).effect;
    expect(await answer("npm run build")).toBe("allow");
    expect(await answer("npm run clean")).toBe("deny");
    expect(await answer("cd src && npm run clean")).toBe("deny");
    expect(await answer("npm run missing")).toBe("allow");
    expect(await answer("npx rimraf dist")).toBe("ask");
  });

  const CALLER = { scope: "reviewer", id: "anna", member_id: "anna", via: "token" } as const;
  const change = (if_match: string | null = null) => ({ caller: CALLER, if_match });

  test("updatePolicies() keeps comments and unknown keys and holds when it answers", async () => {
    project(`{
  // who we are
  "id": "p",
  "mine": [1],
  "policies": {
    "defaultEffect": "allow",
    "blockedPaths": [
      // secrets
      ".env",
      "*.old"
    ]
  }
}
`);
    const config = open();
    const { etag } = await config.view();
    const wanted = { blockedPaths: [".env", { pattern: "*.pem", reason: "keys" }] };
    const view = await config.updatePolicies(wanted, change(etag));
    expect(view.etag).not.toBe(etag);
    expect(await effect(config, "a.pem")).toBe("deny");
    expect(await effect(config, "a.old")).toBe("allow");
    const text = readFileSync(join(base, "proj/gate.config.json"), "utf8");
    expect(text).toContain("// who we are");
    expect(text).toContain("// secrets");
    expect(text).toContain(`"mine": [1]`);
    expect(text).toContain(`"defaultEffect": "allow"`);
    expect(recorded).toMatchObject([{
      type: "policy.changed",
      actor: { kind: "reviewer", id: "anna" },
      data: { source: "gate", keys: ["blockedPaths"] },
    }]);
  });

  test("updatePolicies() refuses a stale version, a broken file and a rule that cannot be used", async () => {
    project(`{ "id": "p", "policies": {} }`);
    const config = open();
    const before = readFileSync(join(base, "proj/gate.config.json"), "utf8");
    const codes = [
      config.updatePolicies({ defaultEffect: "allow" }, change(`"other"`)),
      config.updatePolicies({ blockedPaths: ["!x"] }, change()),
      config.updatePolicies({ blockedTools: [{ pattern: "a", match: ["b"] }] }, change()),
    ].map((one) => one.then(() => "", (error) => error.code));
    expect(await Promise.all(codes)).toEqual(["digest_mismatch", "invalid", "invalid"]);
    expect(readFileSync(join(base, "proj/gate.config.json"), "utf8")).toBe(before);
    project("{");
    await expect(config.updatePolicies({}, change())).rejects.toMatchObject({ code: "conflict" });
    expect(recorded.filter((one) => one.data.source === "gate")).toEqual([]);
  });

  test("updatePolicies() makes a file where there is none", async () => {
    const config = open();
    await config.updatePolicies({ defaultEffect: "allow" }, change(`*`));
    expect(await effect(config, "a.ts")).toBe("allow");
    expect(JSON.parse(readFileSync(join(base, "proj/gate.config.json"), "utf8"))).toEqual({
      id: "p",
      version: "2",
      policies: { defaultEffect: "allow" },
    });
  });

  test("a change that did not come through the gate is recorded, also across restarts", async () => {
    project(`{ "id": "p" }`);
    await open().view();
    expect(recorded).toEqual([]);
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    const config = open();
    await config.view();
    await config.view();
    expect(recorded).toMatchObject([{
      type: "policy.changed",
      actor: { kind: "system", id: "file" },
      data: { source: "file", path: join(base, "proj/gate.config.json") },
    }]);
    await config.updatePolicies({ defaultEffect: "deny" }, change());
    await open().view();
    expect(recorded.map((one) => one.data.source)).toEqual(["file", "gate"]);
  });

  test("what was changed outside is told until a reviewer accepts that very text", async () => {
    const config = open();
    const path = join(base, "proj/gate.config.json");
    const policies = { defaultEffect: "ask", blockedPaths: [".env"] };
    project(JSON.stringify({ id: "p", policies }));
    expect((await config.view()).outside_changes).toEqual([]);
    project(JSON.stringify({ id: "p", policies: { ...policies, blockedPaths: ["x"] }, note: 1 }));
    const [change] = (await config.view()).outside_changes;
    expect(change).toMatchObject({
      path,
      differences: [
        { kind: "added", key: "blockedPaths", text: "x" },
        { kind: "removed", key: "blockedPaths", text: ".env" },
        { kind: "changed", key: "note", text: "nothing → 1" },
      ],
    });
    expect(change!.by).not.toBeNull();
    // It stays over restarts, and a change through the gate does not bury it.
    const again = open();
    await again.updatePolicies({ askPaths: ["y"] }, { caller: REVIEWER, if_match: null });
    const [both] = (await again.view()).outside_changes;
    expect(both!.differences).toHaveLength(4);
    const seen = { path, sha256: change!.after_sha256 };
    await expect(again.accept(seen, REVIEWER)).rejects.toThrow(
      "the file has changed since; look at it again",
    );
    const now = { path, sha256: both!.after_sha256 };
    const agent = { ...REVIEWER, scope: "agent" } as const;
    await expect(again.accept(now, agent)).rejects.toThrow("only a reviewer may");
    expect((await again.accept(now, REVIEWER)).outside_changes).toEqual([]);
    expect(recorded.at(-1)).toMatchObject({
      type: "policy.changed",
      actor: { kind: "reviewer" },
      data: { source: "accepted", after_sha256: both!.after_sha256 },
    });
    expect((await open().view()).outside_changes).toEqual([]);
  });

  test("what is put back as it was needs no word", async () => {
    const config = open();
    project(`{ "id": "p" }`);
    await config.view();
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    expect((await config.view()).outside_changes).toHaveLength(1);
    project(`{ "id": "p" }`);
    expect((await config.view()).outside_changes).toEqual([]);
  });

  test("a pin of an older release is taken over", async () => {
    project(`{ "id": "p" }`);
    const folder = join(base, "home/projects/p");
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "config_pin.json");
    writeFileSync(file, `{ "${join(base, "proj/gate.config.json")}": "${"0".repeat(64)}" }`);
    expect((await open().view()).outside_changes).toMatchObject([{ differences: null }]);
  });

  test("a broken config is told in its parts", async () => {
    project(`{ "id": "p",\n  "policies": {,} }`);
    expect((await open().view()).problem).toEqual({
      path: join(base, "proj/gate.config.json"),
      line: 2,
      column: 16,
      cause: expect.stringContaining("not valid JSON"),
      next: expect.stringContaining("Fix the file"),
    });
  });
});

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NewEvent } from "../../../server/db/ledger.ts";
import { Config } from "../../../server/config/config.ts";
import { listProblems } from "../../../server/config/outside.ts";
import { Configs } from "../../../server/config/configs.ts";
import type { Database } from "../../../server/db/database.ts";
import { Registry } from "../../../server/projects/registry.ts";
import { OWN_PID } from "../../../server/runtime/processes.ts";

let base: string;
let recorded: NewEvent[];
beforeEach(() => {
  recorded = [];
  base = realpathSync(mkdtempSync(join(tmpdir(), "gate-config-")));
  mkdirSync(join(base, "home"));
  mkdirSync(join(base, "proj"));
});
afterEach(async () => {
  await registry?.close();
  registry = null;
  rmSync(base, { recursive: true, force: true });
});

const project = (text: string) => writeFileSync(join(base, "proj/gate.config.json"), text);
const global = (text: string) => writeFileSync(join(base, "home/config.json"), text);
let registry: Database | null = null;
let configs: Configs;
const environment = () => ({
  home: join(base, "home"),
  now: () => 0,
  id: () => "id",
  log: () => {},
});
/** Opens the config as a daemon does; a second call is a restart. */
const open = async () => {
  await registry?.close();
  registry = (await Registry.open(environment())).database;
  configs = await Configs.open({
    environment: environment(),
    registry,
    port: 47000,
    proofs: {
      status: () => Promise.resolve({ kind: "token", problem: null }),
      sealed_sha256: null,
      isValid: () => Promise.resolve(false),
      require: () => Promise.resolve(null),
    },
    listRoots: () => Promise.resolve([]),
    create: (...services) => new Config(...services),
  });
  const config = configs.of("p", [join(base, "proj")]);
  const record = (event: NewEvent) => {
    recorded.push(event);
    return Promise.resolve();
  };
  const listPolicyChanges = () => Promise.resolve([]);
  config.files.attach({ record, listPolicyChanges, head: () => null }, [join(base, "proj")]);
  await config.changes.acceptKnown();
  return config;
};
/** Accepts the file as it is now. */
const accept = async (config: Config, path = join(base, "proj/gate.config.json")) => {
  const change = (await config.view()).outside_changes.find((one) => one.path === path);
  await config.changes.accept({ path, sha256: change!.after_sha256 }, REVIEWER);
};
const REVIEWER = {
  scope: "reviewer",
  id: "ada",
  member_id: "ada",
  via: "token",
  proof: null,
} as const;
const effect = async (config: Config, path: string) =>
  (await config.test({ path, action: "write" })).effect;

describe("Config", () => {
  test("asks by default when there is no file", async () => {
    expect(await effect(await open(), "a.ts")).toBe("ask");
  });

  test("denies a command that ends the process of the daemon", async () => {
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    const decide = async (command: string) => (await (await open()).test({ command })).effect;
    expect(await decide(`kill -9 ${OWN_PID}`)).toBe("deny");
    expect(await decide(`kill ${OWN_PID + 1}`)).toBe("allow");
  });

  test("accepts comments and trailing commas, and reads a changed file again", async () => {
    project(`{ "id": "p", // why\n "policies": { "defaultEffect": "allow", }, }`);
    const config = await open();
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
    const config = await open();
    const answer = await config.test({ path: "a.ts", action: "write" });
    expect(answer.effect).toBe("deny");
    expect(answer.reason).toContain(told);
    expect((await config.view()).error).toContain(told);
    // Once it is repaired, the accepted rules hold again; what the repair loosens waits.
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    expect(await effect(config, "a.ts")).toBe("ask");
    await accept(config);
    expect(await effect(config, "a.ts")).toBe("allow");
  });

  test("denies everything while the global config is broken, and names the file", async () => {
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    global("{");
    const answer = await (await open()).test({ path: "a.ts", action: "write" });
    expect(answer).toMatchObject({ effect: "deny" });
    expect(answer.reason).toContain("config.json:1:");
  });

  test("a config that is gone keeps the accepted rules, over restarts too, and says so", async () => {
    project(`{ "id": "p", "policies": { "defaultEffect": "allow", "blockedPaths": ["*.pem"] } }`);
    const path = join(base, "proj/gate.config.json");
    const first = await open();
    expect(await effect(first, "a.ts")).toBe("allow");
    rmSync(path);
    for (const reopen of [() => Promise.resolve(first), open, open]) {
      const config = await reopen();
      expect(await effect(config, "a.ts")).toBe("allow");
      expect(await effect(config, "a.pem")).toBe("deny");
      const view = await config.view();
      expect(view.error).toBeNull();
      expect(view.warnings.join("\n")).toContain(`"${path}" is gone`);
      expect(view.outside_changes).toMatchObject([{ path, after_sha256: "", waiting: true }]);
      expect(await listProblems(config.files)).toMatchObject([
        { message: expect.stringContaining("is gone") },
      ]);
    }
  });

  test("a machine config that is gone keeps the accepted rules, over restarts too", async () => {
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    global(`{ "policies": { "blockedPaths": ["*.ts"], "defaultEffect": "allow" } }`);
    const first = await open();
    expect(await effect(first, "a.ts")).toBe("deny");
    rmSync(join(base, "home/config.json"));
    for (const reopen of [() => Promise.resolve(first), open]) {
      const config = await reopen();
      expect(await effect(config, "a.ts")).toBe("deny");
      expect(await effect(config, "a.md")).toBe("allow");
      expect(await listProblems(config.files)).toMatchObject([
        { message: expect.stringContaining("config.json") },
      ]);
    }
    const config = await open();
    await accept(config, join(base, "home/config.json"));
    expect(await effect(config, "a.ts")).toBe("allow");
    expect(await listProblems(config.files)).toEqual([]);
  });

  test("a problem of the machine config is told once, whatever the number of projects", async () => {
    project(`{ "id": "p" }`);
    global(`{ "policies": { "blockedPaths": ["*.ts"] } }`);
    await open();
    configs.of("q", [join(base, "other")]);
    rmSync(join(base, "home/config.json"));
    expect(await configs.problems()).toMatchObject([
      { message: expect.stringContaining("config.json") },
    ]);
  });

  test("overrideGlobal has an effect only while a person trusts it", async () => {
    global(`{ "policies": { "blockedPaths": ["*.ts"] } }`);
    project(`{ "overrideGlobal": true, "policies": { "defaultEffect": "allow" } }`);
    const config = await open();
    expect(await effect(config, "a.ts")).toBe("deny");
    const view = await config.view();
    expect(view.effective.override_global).toBe("untrusted");
    expect(view.warnings.join(" ")).toMatch(/no "id".*trust-override/s);
    await config.changes.trustOverride(REVIEWER);
    expect(await effect(config, "a.ts")).toBe("allow");
    expect((await config.view()).effective.override_global).toBe("trusted");
    const again = await open();
    expect(await effect(again, "a.ts")).toBe("allow");
    await again.changes.revokeTrust(REVIEWER);
    expect(await effect(again, "a.ts")).toBe("deny");
    expect(await effect(await open(), "a.ts")).toBe("deny");
    expect(recorded.map(({ type, data }) => [type, data.override_global])).toEqual([
      ["policy.changed", true],
      ["policy.changed", false],
    ]);
  });

  test("view() names the source of each rule", async () => {
    global(`{ "policies": { "blockedPaths": [".env"], "maxBashOutputBytes": 10 } }`);
    project(
      `{ "id": "p", "policies": { "askCommands": [{ "pattern": "npm *", "reason": "why" }] } }`,
    );
    const { effective, etag } = await (await open()).view();
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

  test("an allowed task is denied when its script runs a blocked command", async () => {
    project(
      `{ "id": "p", "policies": { "allowedCommands": ["npm run"], "blockedCommands": ["rm -rf"] } }`,
    );
    writeFileSync(
      join(base, "proj/package.json"),
      JSON.stringify({ scripts: { clean: "rm -rf dist", build: "tsc && cp a.js out.js" } }),
    );
    const config = await open();
    const answer = async (command: string) => (await config.test({ command })).effect;
    expect(await answer("npm run build")).toBe("allow");
    expect(await answer("npm run clean")).toBe("deny");
    expect(await answer("cd src && npm run clean")).toBe("deny");
    expect(await answer("npm run missing")).toBe("allow");
    expect(await answer("npx rimraf dist")).toBe("ask");
  });

  const CALLER = {
    scope: "reviewer",
    id: "anna",
    member_id: "anna",
    via: "token",
    proof: null,
  } as const;
  const change = (if_match: string | null = null) => ({ caller: CALLER, if_match });

  test("updatePolicies() keeps comments and unknown keys and is in force when it returns", async () => {
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
    const config = await open();
    const { etag } = await config.view();
    const wanted = { blockedPaths: [".env", { pattern: "*.pem", reason: "keys" }] };
    await config.changes.updatePolicies(wanted, change(etag));
    const view = await config.view();
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

  test("updatePolicies() refuses a stale version, an invalid rule and a broken file", async () => {
    project(`{ "id": "p", "policies": {} }`);
    const config = await open();
    const before = readFileSync(join(base, "proj/gate.config.json"), "utf8");
    const codes = [
      config.changes.updatePolicies({ defaultEffect: "allow" }, change(`"other"`)),
      config.changes.updatePolicies({ blockedPaths: ["!x"] }, change()),
      config.changes.updatePolicies({ blockedTools: [{ pattern: "a", match: ["b"] }] }, change()),
    ].map((one) => one.then(() => "", (error) => error.code));
    expect(await Promise.all(codes)).toEqual(["digest_mismatch", "invalid", "invalid"]);
    expect(readFileSync(join(base, "proj/gate.config.json"), "utf8")).toBe(before);
    project("{");
    await expect(config.changes.updatePolicies({}, change())).rejects.toMatchObject({
      code: "conflict",
    });
    expect(recorded.filter((one) => one.data.source === "gate")).toEqual([]);
  });

  test("updatePolicies() creates a missing file", async () => {
    const config = await open();
    await config.changes.updatePolicies({ defaultEffect: "allow" }, change(`*`));
    expect(await effect(config, "a.ts")).toBe("allow");
    expect(JSON.parse(readFileSync(join(base, "proj/gate.config.json"), "utf8"))).toEqual({
      id: "p",
      version: "2",
      policies: { defaultEffect: "allow" },
    });
  });

  test("a change from outside is recorded once, also when gate was not running", async () => {
    project(`{ "id": "p" }`);
    await (await open()).view();
    expect(recorded).toEqual([]);
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    const config = await open();
    await config.view();
    await config.view();
    expect(recorded).toMatchObject([{
      type: "policy.changed",
      actor: { kind: "system", id: "file" },
      data: { source: "file", path: join(base, "proj/gate.config.json") },
    }]);
    await config.changes.updatePolicies({ defaultEffect: "deny" }, change());
    await (await open()).view();
    expect(recorded.map((one) => one.data.source)).toEqual(["file", "gate"]);
  });

  test("view() lists a change from outside until a reviewer accepts exactly that text", async () => {
    const path = join(base, "proj/gate.config.json");
    const policies = { defaultEffect: "ask", blockedPaths: [".env"] };
    project(JSON.stringify({ id: "p", policies }));
    const config = await open();
    expect((await config.view()).outside_changes).toEqual([]);
    project(JSON.stringify({ id: "p", policies: { ...policies, blockedPaths: ["x"] }, note: 1 }));
    const [change] = (await config.view()).outside_changes;
    expect(change).toMatchObject({
      path,
      waiting: true,
      differences: [
        { kind: "removed", key: "blockedPaths", text: ".env", in_force: false },
        { kind: "added", key: "blockedPaths", text: "x", in_force: true },
        { kind: "changed", key: "note", text: "nothing → 1", in_force: true },
      ],
    });
    // A tightening holds at once; a loosening waits.
    expect(await effect(config, "x")).toBe("deny");
    expect(await effect(config, ".env")).toBe("deny");
    expect(change!.by).toMatch(/^(?!unknown$)./);
    // The change stays listed after a restart and after a change through gate.
    const again = await open();
    await again.changes.updatePolicies({ askPaths: ["y"] }, { caller: REVIEWER, if_match: null });
    const [both] = (await again.view()).outside_changes;
    // A change through gate accepts the keys that it changes, not the rest of the file.
    expect(both!.differences).toEqual(change!.differences);
    expect(await effect(again, "y")).toBe("ask");
    const seen = { path, sha256: change!.after_sha256 };
    await expect(again.changes.accept(seen, REVIEWER)).rejects.toThrow(
      "the file has changed since; a person must review the new change, then accept it",
    );
    const now = { path, sha256: both!.after_sha256 };
    const agent = { ...REVIEWER, scope: "agent" } as const;
    await expect(again.changes.accept(now, agent)).rejects.toThrow("or with gate config accept");
    await again.changes.accept(now, REVIEWER);
    expect((await again.view()).outside_changes).toEqual([]);
    expect(recorded.at(-1)).toMatchObject({
      type: "policy.changed",
      actor: { kind: "reviewer" },
      data: { source: "accepted", after_sha256: both!.after_sha256 },
    });
    expect((await (await open()).view()).outside_changes).toEqual([]);
  });

  test.each([
    [{ blockedCommands: [7] }, '"blockedCommands/0": must be a text or an object; correct it'],
    [
      { defaultEffect: "perhaps" },
      /^Cannot test the policies: "defaultEffect": must be one of "allow", "ask", "deny"; correct it$/,
    ],
    [{ blockedCommand: ["rm"] }, '"blockedCommand" has no effect; did you mean "blockedCommands"?'],
  ])("candidate() names the wrong key of %j", async (policies, message) => {
    await expect((await open()).candidate({ policies: policies as never })).rejects.toThrow(
      message,
    );
  });

  test("view() lists no change when the file has its old content again", async () => {
    project(`{ "id": "p" }`);
    const config = await open();
    project(`{ "id": "p", "policies": { "defaultEffect": "allow" } }`);
    expect((await config.view()).outside_changes).toHaveLength(1);
    project(`{ "id": "p" }`);
    expect((await config.view()).outside_changes).toEqual([]);
  });

  test("a pin of an older release still reveals a change from outside", async () => {
    project(`{ "id": "p" }`);
    await (await Registry.open(environment())).close();
    const folder = join(base, "home/projects/p");
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "config_pin.json");
    writeFileSync(file, `{ "${join(base, "proj/gate.config.json")}": "${"0".repeat(64)}" }`);
    expect((await (await open()).view()).outside_changes).toMatchObject([{ differences: null }]);
  });

  test("view() returns the line, column, cause and next step of a broken config", async () => {
    project(`{ "id": "p",\n  "policies": {,} }`);
    expect((await (await open()).view()).problem).toEqual({
      path: join(base, "proj/gate.config.json"),
      line: 2,
      column: 16,
      cause: expect.stringContaining("not valid JSON"),
      next: expect.stringContaining("Fix the file"),
    });
  });
});

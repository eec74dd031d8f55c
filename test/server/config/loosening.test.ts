import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { acceptDigest } from "../../../server/config/digests.ts";
import { listEvents } from "../../../server/audit/store.ts";
import { Database } from "../../../server/db/database.ts";
import type { Project } from "../../../server/projects/project.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";
import { enrol, type Person, prove, sendTo, signed, withPassphrase } from "../proof/person.ts";

const POLICIES = {
  defaultEffect: "ask" as const,
  allowedPaths: ["src/**"],
  askCommands: ["npm publish"],
  allowedCommands: ["npm", "echo"],
  blockedCommands: ["rm -rf"],
  blockedPaths: [".env"],
  commandTimeoutSeconds: 60,
};
const LAX = { defaultEffect: "allow" as const };
const MACHINE = { blockedPaths: ["*.pem"], blockedCommands: ["mkfs*"] };

/** A gate with an enrolled person. `signed`: the person has accepted the config with the key. */
async function enrolled(how: "sealed" | "signed") {
  const gate = await createTestGate({
    proof: "none",
    policies: POLICIES,
    globalPolicies: MACHINE,
  });
  const [send, person] = [sendTo(gate), withPassphrase()];
  expect((await enrol(send, person)).status).toBe(200);
  if (how === "signed") {
    // Loosened once, so that the person's signature stands for the whole text.
    const policies = { allowedCommands: [...POLICIES.allowedCommands, "ls"] };
    expect((await prove(send, person, ["PUT", "/api/config/policies", policies])).status).toBe(200);
  }
  return { gate, send, person };
}

const fileOf = ({ root }: TestGate) => join(root, "gate.config.json");
const machineOf = ({ home }: TestGate) => join(home, "config.json");
const rewrite = (gate: TestGate, policies: object, more: object = {}) =>
  writeFileSync(fileOf(gate), JSON.stringify({ id: "test", policies, ...more }));

/** Changes gate.db while the daemon is stopped, as any program of the same user can. */
async function edit(gate: TestGate, ...statements: [string, ...(string | null)[]][]) {
  await gate.reopen();
  await gate.daemon.close();
  const database = await Database.open(join(gate.home, "gate.db"));
  await database.batch(statements.map(([sql, ...args]) => ({ sql, args })));
  await database.close();
  await gate.open();
}

async function effectOf(gate: TestGate, question: object): Promise<string> {
  const answer = await gate.request("POST", "/api/policy/test?project=test", question);
  expect(answer.status).toBe(200);
  return (await answer.json()).effect;
}

const QUESTIONS: [object, "allow" | "ask" | "deny"][] = [
  [{ command: "rm -rf src" }, "deny"],
  [{ command: "npm publish" }, "ask"],
  [{ command: "make" }, "ask"],
  [{ command: "mkfs.ext4 /dev/sda" }, "deny"],
  [{ path: ".env", action: "write" }, "deny"],
  [{ path: "a.pem", action: "write" }, "deny"],
  [{ path: "README.md", action: "write" }, "ask"],
  [{ action: "WebFetch", input: {} }, "ask"],
];
const STRICT = { allow: 0, ask: 1, deny: 2 };

/**
 * Nothing is laxer than it was accepted, and no limit is higher. Where nobody knows the accepted text
 * any more (`isLost`), a person decides on everything.
 */
async function expectNothingLoosened(gate: TestGate, isLost = false) {
  for (const [question, accepted] of QUESTIONS) {
    const least = isLost ? "ask" : accepted;
    const effect = await effectOf(gate, question) as keyof typeof STRICT;
    expect(STRICT[effect], JSON.stringify(question)).toBeGreaterThanOrEqual(STRICT[least]);
  }
  const { effective } = await (await gate.request("GET", "/api/config?project=test")).json();
  expect(effective.limits.commandTimeoutSeconds).toBeLessThanOrEqual(600);
}

const lax = JSON.stringify({ id: "test", policies: LAX });

/** The ways in which a program of the same user may try to loosen a policy. */
const ATTACKS: [string, (gate: TestGate) => unknown, "lost"?][] = [
  ["the file allows everything", (gate) => rewrite(gate, LAX)],
  ["a rule that denies goes", (gate) => rewrite(gate, { ...POLICIES, blockedCommands: [] })],
  ["a rule that asks goes", (gate) => rewrite(gate, { ...POLICIES, askCommands: [] })],
  [
    "rules that allow come",
    (gate) =>
      rewrite(gate, {
        ...POLICIES,
        allowedPaths: ["**"],
        allowedCommands: ["make", "npm", "rm"],
        allowedTools: ["*"],
      }),
  ],
  ["limits grow", (gate) => rewrite(gate, { ...POLICIES, commandTimeoutSeconds: 80_000 })],
  ["the policies go", (gate) => writeFileSync(fileOf(gate), '{"id":"test"}')],
  [
    "the override comes, with the trust file of an older release",
    async (gate) => {
      rewrite(gate, LAX, { overrideGlobal: true });
      writeFileSync(join(gate.home, "trust.json"), '{"override_global":["test"]}');
      await gate.reopen();
      expect(existsSync(join(gate.home, "trust.json"))).toBe(false);
    },
  ],
  [
    "the override comes, with a trust in gate.db",
    async (gate) => {
      rewrite(gate, LAX, { overrideGlobal: true });
      await edit(gate, ["INSERT INTO override_trusts VALUES ('test', '2026', 'me', NULL)"]);
    },
  ],
  ["the file is deleted", (gate) => unlinkSync(fileOf(gate))],
  [
    "the file is deleted while gate is stopped",
    (gate) => gate.reopen(() => rmSync(fileOf(gate))),
  ],
  [
    "the file becomes a link to a laxer one",
    (gate) => {
      writeFileSync(join(gate.root, "lax.json"), lax);
      rmSync(fileOf(gate));
      symlinkSync(join(gate.root, "lax.json"), fileOf(gate));
    },
  ],
  ["the machine's config is deleted", (gate) => rmSync(machineOf(gate))],
  [
    "the machine's config is deleted while gate is stopped",
    (gate) => gate.reopen(() => rmSync(machineOf(gate))),
  ],
  [
    "the machine's config allows everything",
    (gate) => writeFileSync(machineOf(gate), JSON.stringify({ policies: LAX })),
  ],
  [
    "both files allow everything, over a restart",
    async (gate) => {
      rewrite(gate, LAX);
      writeFileSync(machineOf(gate), JSON.stringify({ policies: LAX }));
      await gate.reopen();
    },
  ],
  [
    "the accepted text in gate.db is replaced, with its hash",
    async (gate) => {
      rewrite(gate, LAX);
      const text = readFileSync(fileOf(gate), "utf8");
      const hash = createHash("sha256").update(text).digest("hex");
      await edit(gate, [
        "UPDATE configs SET text = ?, sha256 = ? WHERE project_id = 'test'",
        text,
        hash,
      ]);
    },
    "lost",
  ],
  [
    "only the accepted text in gate.db is replaced",
    async (gate) => {
      rewrite(gate, LAX);
      await edit(gate, ["UPDATE configs SET text = ? WHERE project_id = 'test'", lax]);
    },
    "lost",
  ],
  [
    "the accepted text becomes the base of a laxer one",
    async (gate) => {
      rewrite(gate, LAX);
      const hash = createHash("sha256").update(lax).digest("hex");
      await edit(gate, [
        `UPDATE configs SET base = json_object('path', path, 'sha256', sha256, 'text', text,
          'accepted_at', accepted_at, 'accepted_by', accepted_by, 'proof', json(proof)),
          text = ?, sha256 = ?, proof = NULL WHERE project_id = 'test'`,
        lax,
        hash,
      ]);
    },
    "lost",
  ],
  [
    "the record is deleted, so that the config seems new",
    async (gate) => {
      rewrite(gate, LAX);
      await edit(gate, ["DELETE FROM configs"]);
    },
    "lost",
  ],
  [
    "the record is deleted, with the file of an older release",
    async (gate) => {
      rewrite(gate, LAX);
      const path = fileOf(gate);
      const version = { sha256: createHash("sha256").update(lax).digest("hex"), text: lax };
      const pin = { seen: version, accepted: version, changed_at: null };
      const file = join(gate.home, "projects/test/config_pin.json");
      writeFileSync(file, JSON.stringify({ [path]: pin }));
      await edit(gate, ["DELETE FROM configs"]);
    },
    "lost",
  ],
  [
    "the seal is replaced",
    async (gate) => {
      rewrite(gate, LAX);
      await edit(
        gate,
        ["UPDATE config_seals SET list = replace(list, 'test', 'test')"],
        ["UPDATE configs SET text = ?, sha256 = 'x', proof = NULL WHERE project_id = 'test'", lax],
      );
    },
    "lost",
  ],
  [
    "the machine's record is deleted",
    async (gate) => {
      rmSync(machineOf(gate));
      await edit(gate, ["DELETE FROM configs WHERE project_id = ''"]);
    },
    "lost",
  ],
  [
    "gate.db is deleted",
    async (gate) => {
      rewrite(gate, LAX);
      await gate.reopen(() => {
        for (const end of ["", "-wal", "-shm"]) {
          rmSync(join(gate.home, `gate.db${end}`), { force: true });
        }
      });
    },
    "lost",
  ],
  [
    "gate.db is deleted and the token is chosen",
    async (gate) => {
      rewrite(gate, LAX);
      await gate.reopen(() => {
        for (const end of ["", "-wal", "-shm"]) {
          rmSync(join(gate.home, `gate.db${end}`), { force: true });
        }
        writeFileSync(
          machineOf(gate),
          JSON.stringify({ approvals: { proof: "token" }, policies: LAX }),
        );
      });
    },
    "lost",
  ],
  [
    "an agent and a reviewer register the project again",
    async (gate) => {
      rewrite(gate, LAX);
      for (const scope of ["agent", "reviewer"] as const) {
        const answer = await gate.request("POST", "/api/hub/projects", { root: gate.root }, scope);
        expect(answer.status).toBe(201);
        expect((await answer.json()).warnings.join()).toContain("a person must accept");
      }
    },
  ],
  [
    "the reviewer's token accepts it",
    async (gate) => {
      rewrite(gate, LAX);
      const [change] = await outside(gate);
      const body = { path: change.path, sha256: change.after_sha256 };
      const answer = await gate.request("POST", "/api/config/accept", body);
      expect(answer.status).toBe(403);
      expect((await answer.json()).code).toBe("proof_required");
    },
  ],
  [
    "the reviewer's token changes the policies",
    async (gate) => {
      const answer = await gate.request("PUT", "/api/config/policies", LAX);
      expect(answer.status).toBe(403);
      expect((await answer.json()).code).toBe("proof_required");
      expect(readFileSync(fileOf(gate), "utf8")).not.toContain('"allow"');
    },
  ],
  [
    "the project moves, with a laxer config",
    async (gate) => {
      rewrite(gate, LAX);
      copyFileSync(fileOf(gate), `${fileOf(gate)}.bak`);
      await gate.reopen();
    },
  ],
];

// deno-lint-ignore no-explicit-any -- tests read any field
async function outside(gate: TestGate): Promise<any[]> {
  return (await (await gate.request("GET", "/api/config?project=test")).json()).outside_changes;
}

describe.each(["sealed", "signed"] as const)("what loosens waits, %s", (how) => {
  test.each(ATTACKS)("%s", async (_, attack, lost) => {
    const { gate } = await enrolled(how);
    await expectNothingLoosened(gate);
    await attack(gate);
    await expectNothingLoosened(gate, lost === "lost");
    await gate.reopen();
    await expectNothingLoosened(gate, lost === "lost");
    if (lost) expect((await gate.daemon.status()).problems).not.toEqual([]);
  });
});

describe("accepting a change", () => {
  const change = async (gate: TestGate, person: Person) => {
    const [{ path, after_sha256: sha256 }] = await outside(gate);
    return await prove(sendTo(gate), person, ["POST", "/api/config/accept", { path, sha256 }]);
  };

  test("needs the person, then holds over restarts, and the ledger keeps the proof", async () => {
    const { gate, person } = await enrolled("sealed");
    rewrite(gate, { ...POLICIES, blockedCommands: ["make"], allowedPaths: ["docs/**"] });
    expect(await outside(gate)).toMatchObject([{
      waiting: true,
      differences: [
        { key: "allowedPaths", kind: "added", text: "docs/**", in_force: false },
        { key: "blockedCommands", kind: "removed", text: "rm -rf", in_force: false },
        { key: "allowedPaths", kind: "removed", text: "src/**", in_force: true },
        { key: "blockedCommands", kind: "added", text: "make", in_force: true },
      ],
    }]);
    // A tightening holds at once, in both directions.
    expect(await effectOf(gate, { command: "make" })).toBe("deny");
    expect(await effectOf(gate, { path: "src/a.ts", action: "write" })).toBe("ask");
    expect(await effectOf(gate, { path: "docs/a.md", action: "write" })).toBe("ask");
    const answer = await change(gate, person);
    expect(answer.status).toBe(200);
    expect((await answer.json()).outside_changes).toEqual([]);
    await gate.reopen();
    expect(await effectOf(gate, { path: "docs/a.md", action: "write" })).toBe("allow");
    expect(await effectOf(gate, { command: "rm -rf src" })).toBe("ask");
    const event = (await gate.audit()).findLast(({ type }) => type === "policy.changed");
    expect(event!.data).toMatchObject({
      source: "accepted",
      proof: { kind: "passphrase", challenge: { verb: "accept_config", project_id: "test" } },
    });
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
  });

  test("a proof for one text accepts no other, and is used up", async () => {
    const { gate, send, person } = await enrolled("sealed");
    rewrite(gate, { ...POLICIES, blockedCommands: [] });
    const [first] = await outside(gate);
    const body = { path: first.path, sha256: first.after_sha256 };
    const proof = await signed(await send("POST", "/api/config/accept", body), person);
    rewrite(gate, LAX);
    const [second] = await outside(gate);
    const other = { path: second.path, sha256: second.after_sha256, proof };
    expect((await send("POST", "/api/config/accept", other)).status).toBe(403);
    expect((await send("POST", "/api/config/accept", { ...body, proof })).status).toBe(409);
    await expectNothingLoosened(gate);
  });

  test("a change that only tightens needs no proof, and holds over restarts and file edits", async () => {
    const { gate, send } = await enrolled("signed");
    const answer = await send("PUT", "/api/config/policies", { blockedPaths: [".env", "*.key"] });
    expect(answer.status).toBe(200);
    await gate.reopen();
    expect(await effectOf(gate, { path: "a.key", action: "write" })).toBe("deny");
    expect(await outside(gate)).toEqual([]);
    rewrite(gate, POLICIES);
    await gate.reopen();
    expect(await effectOf(gate, { path: "a.key", action: "write" })).toBe("deny");
  });

  test("a machine's config is accepted with a proof too", async () => {
    const { gate, person } = await enrolled("sealed");
    writeFileSync(machineOf(gate), JSON.stringify({ policies: { blockedPaths: ["*.p12"] } }));
    expect(await effectOf(gate, { path: "a.p12", action: "write" })).toBe("deny");
    expect(await effectOf(gate, { path: "a.pem", action: "write" })).toBe("deny");
    expect((await change(gate, person)).status).toBe(200);
    await gate.reopen();
    expect(await effectOf(gate, { path: "a.pem", action: "write" })).toBe("ask");
  });

  test("an override is trusted with a proof, over restarts; revoking needs none", async () => {
    const { gate, send, person } = await enrolled("sealed");
    rewrite(gate, { ...POLICIES }, { overrideGlobal: true });
    expect((await change(gate, person)).status).toBe(200);
    const path = "/api/hub/projects/test/override-trust";
    expect(await effectOf(gate, { path: "a.pem", action: "write" })).toBe("deny");
    expect((await prove(send, person, ["PUT", path])).status).toBe(200);
    await gate.reopen();
    expect(await effectOf(gate, { path: "a.pem", action: "write" })).toBe("ask");
    expect((await send("DELETE", path)).status).toBe(200);
    expect(await effectOf(gate, { path: "a.pem", action: "write" })).toBe("deny");
    const unknown = "/api/hub/projects/nosuch/override-trust";
    expect((await send("DELETE", unknown)).status).toBe(404);
    expect((await send("PUT", unknown)).status).toBe(404);
  });

  test("a project registered while a key is enrolled tightens at once; the rest waits", async () => {
    const { gate, send, person } = await enrolled("sealed");
    const root = join(gate.root, "..", "other");
    const policies = { defaultEffect: "allow", blockedCommands: ["make"] };
    mkdirSync(root);
    writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: "other", policies }));
    const answer = await send("POST", "/api/hub/projects", { root });
    expect(answer.status).toBe(201);
    expect((await answer.json()).warnings).toEqual([
      `a part of "${
        join(root, "gate.config.json")
      }" waits: a person must accept the change with gate config accept`,
    ]);
    const effect = async (command: string) =>
      (await (await send("POST", "/api/policy/test?project=other", { command })).json()).effect;
    expect(await effect("make")).toBe("deny");
    expect(await effect("ls")).toBe("ask");
    const { outside_changes: [{ path, after_sha256: sha256 }] } =
      await (await send("GET", "/api/config?project=other")).json();
    const body = { path, sha256 };
    const accepted = await prove(send, person, ["POST", "/api/config/accept?project=other", body]);
    expect(accepted.status).toBe(200);
    expect(await effect("ls")).toBe("allow");
  });
});

test("padding hides nothing that waits: all is listed, what waits first, or nothing is", async () => {
  const { gate } = await enrolled("signed");
  const changesOf = async () => {
    const view = await (await gate.request("GET", "/api/config?project=test")).json();
    return view.outside_changes[0].differences as { key: string; text: string }[] | null;
  };
  const padding = (count: number) => Array.from({ length: count }, (_, i) => `never-${i}`);
  const allowed = [...POLICIES.allowedCommands, "ls", "curl *"];
  rewrite(gate, { ...POLICIES, blockedCommands: padding(150), allowedCommands: allowed });
  const shown = await changesOf();
  expect(shown?.length).toBeGreaterThan(150);
  expect(shown?.slice(0, 2).map(({ text }) => text)).toContain("curl *");
  rewrite(gate, { ...POLICIES, blockedCommands: padding(5_001), allowedCommands: allowed });
  expect(await changesOf()).toBeNull();
});

describe("what another program writes back into gate.db", () => {
  type Kept = Record<string, string | number | null>;

  /** Runs a task on gate.db while the daemon is stopped, as any program of the same user can. */
  async function stopped<T>(gate: TestGate, task: (database: Database) => Promise<T>): Promise<T> {
    await gate.reopen();
    await gate.daemon.close();
    const database = await Database.open(join(gate.home, "gate.db"));
    const result = await task(database);
    await database.close();
    await gate.open();
    return result;
  }

  const keep = (gate: TestGate, id: string) =>
    stopped(gate, async (database) => {
      const [row] = await database.all("SELECT * FROM configs WHERE project_id = ?", [id]);
      return row as Kept;
    });

  const putBack = (row: Kept) => async (database: Database) => {
    const columns = Object.keys(row);
    const marks = columns.map(() => "?").join(", ");
    const sql = `INSERT OR REPLACE INTO configs (${columns.join(", ")}) VALUES (${marks})`;
    await database.batch([{ sql, args: Object.values(row) }]);
  };

  async function acceptAll(gate: TestGate, person: Person) {
    for (const { path, after_sha256: sha256 } of await outside(gate)) {
      const body = { path, sha256 };
      const answer = await prove(sendTo(gate), person, [
        "POST",
        "/api/config/accept?project=test",
        body,
      ]);
      expect(answer.status).toBe(200);
    }
  }

  const problems = async (gate: TestGate) => (await gate.daemon.status()).problems.join();

  test("a forged text stays forged when the person changes the proof", async () => {
    const { gate, send, person } = await enrolled("sealed");
    rewrite(gate, LAX);
    const text = readFileSync(fileOf(gate), "utf8");
    const hash = createHash("sha256").update(text).digest("hex");
    const forge = "UPDATE configs SET text = ?, sha256 = ? WHERE project_id = 'test'";
    await edit(gate, [forge, text, hash]);
    expect((await enrol(send, withPassphrase(), person)).status).toBe(200);
    for (let round = 0; round < 3; round++) {
      await expectNothingLoosened(gate, true);
      expect(await problems(gate)).toContain("fit no proof");
      await gate.reopen();
    }
  });

  test("a text forged while gate runs is not sealed either", async () => {
    const { gate, send, person } = await enrolled("signed");
    await expectNothingLoosened(gate);
    const text = JSON.stringify({ id: "test", policies: LAX });
    const hash = createHash("sha256").update(text).digest("hex");
    const database = await Database.open(join(gate.home, "gate.db"));
    await database.batch([
      { sql: "UPDATE configs SET text = ?, sha256 = ?, proof = NULL", args: [text, hash] },
    ]);
    await database.close();
    expect((await enrol(send, withPassphrase(), person)).status).toBe(200);
    rewrite(gate, LAX);
    await gate.reopen();
    await expectNothingLoosened(gate, true);
    expect(await problems(gate)).toContain("fit no proof");
  });

  test.each(["project", "machine"] as const)(
    "an older acceptance of the %s does not come back",
    async (which) => {
      const { gate, person } = await enrolled("sealed");
      const [id, file] = which === "project" ? ["test", fileOf(gate)] : ["", machineOf(gate)];
      const loose = JSON.stringify({ id: "test", policies: { allowedCommands: ["make"] } });
      const strict = JSON.stringify({ id: "test", policies: { blockedCommands: ["make"] } });
      writeFileSync(file, loose);
      await acceptAll(gate, person);
      expect(await effectOf(gate, { command: "make" })).toBe("allow");
      const old = await keep(gate, id);
      expect(await effectOf(gate, { command: "make" })).toBe("allow");
      writeFileSync(file, strict);
      await acceptAll(gate, person);
      expect(await effectOf(gate, { command: "make" })).toBe("deny");
      writeFileSync(file, loose);
      await stopped(gate, putBack(old));
      for (let round = 0; round < 2; round++) {
        expect(await effectOf(gate, { command: "make" })).toBe("ask");
        expect(await problems(gate)).toContain("are older than the ones that were accepted last");
        await gate.reopen();
      }
      // A higher number is not what the person signed.
      await stopped(gate, putBack({ ...old, number: 9 }));
      expect(await effectOf(gate, { command: "make" })).toBe("ask");
      expect(await problems(gate)).toContain("fit no proof");
      // Nor is the old text the base of anything.
      const base = JSON.stringify({
        path: old.path,
        sha256: old.sha256,
        text: old.text,
        number: old.number,
        accepted_at: "",
        accepted_by: "",
        proof: JSON.parse(String(old.proof)),
      });
      await stopped(gate, putBack({ ...old, number: 9, proof: null, base }));
      expect(await effectOf(gate, { command: "make" })).toBe("ask");
      expect(await problems(gate)).toContain("are older than");
      await acceptAll(gate, person);
      expect(await effectOf(gate, { command: "make" })).toBe("allow");
      await gate.reopen();
      expect(await effectOf(gate, { command: "make" })).toBe("allow");
      expect(await problems(gate)).toBe("");
    },
  );

  test.each(["project", "machine"] as const)(
    "a proof for a number that the %s has not reached counts for nothing",
    async (which) => {
      const { gate, send, person } = await enrolled("sealed");
      const [id, file] = which === "project" ? ["test", fileOf(gate)] : ["", machineOf(gate)];
      const loose = JSON.stringify({ id: "test", policies: { allowedCommands: ["make"] } });
      writeFileSync(file, loose);
      const [{ path, after_sha256: sha256 }] = await outside(gate);
      // Another program answered in the daemon's place, and the person signed what it said.
      const refused = await send("POST", "/api/config/accept?project=test", { path, sha256 });
      const { challenge: { nonce, expires_at, verb, project_id, action_id, member_id, head } } =
        await refused.json();
      const digest = acceptDigest(path, sha256, 1_000_000);
      const challenge = { nonce, expires_at, verb, project_id, action_id, digest, member_id, head };
      const { nonce: _, ...signature } = person.sign(challenge);
      const proof = JSON.stringify({ ...signature, challenge });
      await acceptAll(gate, person);
      const old = await keep(gate, id);
      expect(await effectOf(gate, { command: "make" })).toBe("allow");
      writeFileSync(
        file,
        JSON.stringify({ id: "test", policies: { blockedCommands: ["make"] } }),
      );
      await acceptAll(gate, person);
      expect(await effectOf(gate, { command: "make" })).toBe("deny");
      writeFileSync(file, loose);
      await stopped(gate, putBack({ ...old, proof, number: 1_000_000 }));
      for (let round = 0; round < 2; round++) {
        expect(await effectOf(gate, { command: "make" })).toBe("ask");
        expect(await problems(gate)).toContain("are in no audit log");
        const { ok, problem } = await gate.project.audit.verify();
        expect(ok).toBe(false);
        expect(problem!.what).toContain("are in no audit log");
        await gate.reopen();
      }
    },
  );

  test("a crash between the event and gate.db loses no acceptance", async () => {
    const { gate, person } = await enrolled("sealed");
    rewrite(gate, { allowedCommands: ["make"] });
    expect(await outside(gate)).toHaveLength(1);
    const before = await keep(gate, "test");
    await acceptAll(gate, person);
    await stopped(gate, putBack(before));
    expect(await effectOf(gate, { command: "make" })).toBe("allow");
    expect(await problems(gate)).toBe("");
    expect(await outside(gate)).toEqual([]);
  });

  /** Another project with an open ledger. */
  async function addOther(gate: TestGate) {
    const root = join(gate.root, "..", "other");
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: "other" }));
    const answer = await gate.request("POST", "/api/hub/projects", { root });
    expect(answer.status).toBe(201);
    return () => gate.daemon.projects.get("other");
  }

  const ledgerOf = ({ home }: TestGate, id = "test") => join(home, "projects", id);
  const remembered = async (project: Project) =>
    (await listEvents(project.ledger, 0, 1_000)).filter(({ type, data }) =>
      type === "policy.changed" && data.source === "remembered"
    );

  test.each<[string, (gate: TestGate, kept: string) => void]>([
    ["deleted", (gate) => rmSync(ledgerOf(gate), { recursive: true })],
    [
      "older",
      (gate, kept) => {
        rmSync(ledgerOf(gate), { recursive: true });
        cpSync(kept, ledgerOf(gate), { recursive: true });
      },
    ],
  ])("the machine's older acceptance does not come back when one ledger is %s", async (_, lose) => {
    for (const when of ["before", "after"]) {
      const { gate, person } = await enrolled("sealed");
      const openOther = await addOther(gate);
      const loose = JSON.stringify({ policies: { blockedPaths: ["*.p12"] } });
      const strict = JSON.stringify({ policies: { blockedPaths: ["*.p12", "*.pem"] } });
      writeFileSync(machineOf(gate), loose);
      await acceptAll(gate, person);
      expect(await effectOf(gate, { path: "a.pem", action: "write" })).toBe("ask");
      const old = await keep(gate, "");
      const kept = join(gate.home, "kept");
      await stopped(gate, () => {
        cpSync(ledgerOf(gate), kept, { recursive: true });
        return Promise.resolve();
      });
      // The other ledger is open at the acceptance, or opens after it.
      if (when === "before") await openOther();
      writeFileSync(machineOf(gate), strict);
      await acceptAll(gate, person);
      const [last] = (await remembered(await openOther())).slice(-1);
      expect(last).toMatchObject({
        actor: { kind: "system" },
        data: { accepted: { project_id: "", proved: true } },
      });
      expect(await (await openOther()).audit.verify()).toMatchObject({ ok: true, problem: null });
      expect(await remembered(gate.project)).toEqual([]);
      writeFileSync(machineOf(gate), loose);
      await stopped(gate, async (database) => {
        lose(gate, kept);
        await putBack(old)(database);
      });
      for (let round = 0; round < 2; round++) {
        expect(await effectOf(gate, { path: "a.pem", action: "write" })).not.toBe("allow");
        const { warnings } = await (await gate.request("GET", "/api/config?project=test")).json();
        expect(`${warnings}`).toContain("older than the ones that were accepted last");
        await gate.reopen();
      }
      // The ledger that was lost learns it again.
      expect(await remembered(gate.project)).toHaveLength(1);
      await gate.close();
    }
  });

  test("a ledger that comes back while gate runs brings its newer acceptance", async () => {
    const { gate, person } = await enrolled("sealed");
    await addOther(gate);
    const loose = JSON.stringify({ policies: { blockedPaths: ["*.p12"] } });
    writeFileSync(machineOf(gate), loose);
    await acceptAll(gate, person);
    const old = await keep(gate, "");
    writeFileSync(machineOf(gate), JSON.stringify({ policies: { blockedCommands: ["dd"] } }));
    await acceptAll(gate, person);
    await (await gate.daemon.projects.get("other")).audit.verify();
    writeFileSync(machineOf(gate), loose);
    const away = join(gate.home, "away");
    await stopped(gate, async (database) => {
      rmSync(ledgerOf(gate), { recursive: true });
      renameSync(ledgerOf(gate, "other"), away);
      await putBack(old)(database);
    });
    const warnings = async () =>
      `${(await (await gate.request("GET", "/api/config?project=test")).json()).warnings}`;
    expect(await warnings()).not.toContain("older than");
    renameSync(away, ledgerOf(gate, "other"));
    await gate.daemon.projects.get("other");
    expect(await warnings()).toContain("older than the ones that were accepted last");
    await gate.request("GET", "/api/config?project=other");
  });

  test("an accepted tightening stays, also over restarts and with the old row", async () => {
    const { gate, send, person } = await enrolled("signed");
    const old = await keep(gate, "test");
    const file = readFileSync(fileOf(gate));
    rewrite(gate, { ...POLICIES, blockedCommands: ["rm -rf", "npm"] });
    const [{ path, after_sha256: sha256, waiting }] = await outside(gate);
    expect(waiting).toBe(false);
    const { warnings } = await (await send("GET", "/api/config")).json();
    expect(warnings.join()).toContain("is in force, not yet accepted");
    const refused = await send("POST", "/api/config/accept", { path, sha256 });
    expect(refused.status).toBe(403);
    await acceptAll(gate, person);
    expect((await (await send("GET", "/api/config")).json()).warnings).toEqual([]);
    writeFileSync(fileOf(gate), file);
    expect(await effectOf(gate, { command: "npm test" })).toBe("deny");
    expect(await outside(gate)).toMatchObject([{ waiting: true }]);
    await gate.reopen();
    expect(await effectOf(gate, { command: "npm test" })).toBe("deny");
    await stopped(gate, putBack(old));
    expect(await effectOf(gate, { command: "npm test" })).toBe("ask");
  });

  test("a folder does not run under the accepted policy of another project", async () => {
    const { gate, send, person } = await enrolled("signed");
    const root = join(gate.root, "..", "other");
    mkdirSync(root);
    const text = JSON.stringify({ id: "other", policies: LAX });
    writeFileSync(join(root, "gate.config.json"), text);
    expect((await send("POST", "/api/hub/projects", { root })).status).toBe(201);
    const ask = (command: string) =>
      send("POST", "/api/policy/test?project=other", { command }).then((one) => one.json());
    const { outside_changes: [{ path, after_sha256: sha256 }] } =
      await (await send("GET", "/api/config?project=other")).json();
    const body = { path, sha256 };
    const accepted = await prove(send, person, ["POST", "/api/config/accept?project=other", body]);
    expect(accepted.status).toBe(200);
    expect(await ask("make")).toMatchObject({ effect: "allow" });
    rewrite(gate, LAX);
    await stopped(gate, async (database) => {
      const sql = "UPDATE roots SET root = ? WHERE project_id = 'other'";
      await database.batch([{ sql, args: [gate.root] }]);
    });
    expect(await ask("make")).toMatchObject({ effect: "ask" });
    expect(await problems(gate)).toContain("were accepted for another folder");
  });

  test("the version before a tightening without a proof does not come back", async () => {
    const { gate, send } = await enrolled("signed");
    const old = await keep(gate, "test");
    const file = readFileSync(fileOf(gate));
    const body = { blockedCommands: ["rm -rf", "npm"] };
    expect((await send("PUT", "/api/config/policies", body)).status).toBe(200);
    await gate.reopen();
    expect(await effectOf(gate, { command: "npm test" })).toBe("deny");
    expect(await problems(gate)).toBe("");
    writeFileSync(fileOf(gate), file);
    await stopped(gate, putBack(old));
    expect(await effectOf(gate, { command: "npm test" })).toBe("ask");
    expect(await problems(gate)).toContain("are older than");
  });
});

import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Signer } from "../../../server/audit/signer.ts";
import { hashOf, toEvent } from "../../../server/db/chain.ts";
import { Database } from "../../../server/db/database.ts";
import { canonical } from "../../../server/evidence/canonical.ts";
import { GENESIS } from "../../../server/evidence/chain.ts";
import type { AuditEvent } from "../../../server/evidence/schema.ts";
import { until } from "../../e2e/world.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
let home: string;
let early: string;

/** Before a terminal looked at the ledger, which has grown since `early`; and after it did. */
type Moment = "unseen" | "seen";
/** The folders of the home and of what its terminals remember. */
const KEPT = [".gate", ".local"];

/** The home is made once. Each test begins with a copy of it, in the same place. */
beforeAll(async () => {
  gated = await openGatedProject();
  home = join(gated.terminal.folder, ".gate");
  early = join(gated.terminal.folder, "early");
  // Otherwise the machine's own journal would remember the home of another test.
  gated.terminal.env.GATE_SYSTEM_PATH = join(gated.terminal.folder, "nothing");
  await gated.write("src/one.ts", "1");
  await gated.good("daemon", "stop");
  cpSync(home, early, { recursive: true });
  await gated.good("daemon", "start");
  for (const name of ["two", "three"]) await gated.write(`src/${name}.ts`, name);
  await gated.good("daemon", "stop");
  copyKept(gated.terminal.folder, join(gated.terminal.folder, "unseen"));
  await gated.good("daemon", "start");
  await gated.good("status");
  await gated.good("audit", "verify");
  await gated.good("daemon", "stop");
  copyKept(gated.terminal.folder, join(gated.terminal.folder, "seen"));
});

afterEach(() => gated.terminal.run(["daemon", "stop"]));
afterAll(() => gated.close());

function copyKept(from: string, to: string): void {
  for (const name of KEPT) {
    rmSync(join(to, name), { recursive: true, force: true });
    if (existsSync(join(from, name))) cpSync(join(from, name), join(to, name), { recursive: true });
  }
}

function restore(moment: Moment): void {
  copyKept(join(gated.terminal.folder, moment), gated.terminal.folder);
}

/** A running daemon whose newest events no terminal has seen. */
async function startUnseen(): Promise<void> {
  restore("unseen");
  await gated.good("daemon", "start");
}

/** Writes another chain of these events: numbers, links, hashes, and the registry's head. */
async function rechain(change: (events: AuditEvent[]) => AuditEvent[], sign = false) {
  const ledger = await open(join(home, "projects", "web", "ledger.db"));
  const rows = await ledger.all("SELECT * FROM audit ORDER BY seq");
  const changed = change(rows.map((row) => toEvent(row)));
  for (const table of ["audit", "checkpoints"]) {
    for (const verb of ["update", "delete"]) await ledger.all(`DROP TRIGGER ${table}_no_${verb}`);
    await ledger.all(`DELETE FROM ${table}`);
  }
  let head = { ...GENESIS };
  for (const event of changed) {
    const next = { ...event, seq: head.seq + 1, prev_hash: head.hash };
    const { hash: _, ...rest } = next;
    const hash = hashOf(rest);
    const { project_id, seq, at, session_id, action_id, type, actor, data, prev_hash } = next;
    await ledger.all("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [
      ...[project_id, seq, at, session_id, action_id, type],
      ...[canonical(actor), canonical(data), prev_hash, hash],
    ]);
    head = { seq, hash };
  }
  if (sign) {
    const at = new Date().toISOString();
    const signed = Signer.open(join(home, "keys")).sign({ project_id: "web", ...head, at });
    const { project_id, seq, hash, public_key, signature } = signed;
    await ledger.all("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)", [
      ...[project_id, seq, hash, at, public_key, signature],
    ]);
  }
  await ledger.close();
  const registry = await open(join(home, "gate.db"));
  await registry.all("UPDATE heads SET seq = ?, hash = ? WHERE project_id = 'web'", [
    head.seq,
    head.hash,
  ]);
  await registry.close();
}

function open(path: string) {
  return Database.open(path);
}

const shorter = (events: AuditEvent[]) => events.slice(0, -3);
const changed = (events: AuditEvent[]) =>
  events.map((event) => ({ ...event, data: { ...event.data, path: "src/harmless.ts" } }));

/** Ways in which a program of the same user can rewrite the record, with everything that it reads. */
const CUTS: Record<string, () => Promise<void> | void> = {
  "cut, heads rewritten": () => rechain(shorter),
  "cut and signed again with the key file": () => rechain(shorter, true),
  "one event left": () => rechain((events) => events.slice(0, 1), true),
  "an event in the middle left out": () => rechain((events) => events.toSpliced(2, 1), true),
  "events changed, chain recomputed": () => rechain(changed, true),
  "events in another order": () => rechain((events) => events.toReversed(), true),
  "longer than it was, over other events": () =>
    rechain((events) => [...changed(events), ...changed(events), ...events], true),
  "an early copy of the ledger, heads rewritten": async () => {
    const folder = join("projects", "web");
    rmSync(join(home, folder), { recursive: true });
    cpSync(join(early, folder), join(home, folder), { recursive: true });
    const registry = await open(join(home, "gate.db"));
    await registry.all("DELETE FROM heads");
    await registry.close();
  },
  "the whole folder replaced by an early copy": () => {
    rmSync(home, { recursive: true });
    cpSync(early, home, { recursive: true });
  },
  "the registry deleted and the ledger cut": async () => {
    await rechain(shorter, true);
    for (const end of ["", "-wal", "-shm"]) rmSync(join(home, `gate.db${end}`), { force: true });
  },
  "the registry deleted": () => {
    for (const end of ["", "-wal", "-shm"]) rmSync(join(home, `gate.db${end}`), { force: true });
    renameSync(join(home, "projects"), join(home, "projects.old"));
  },
  "the ledger deleted": async () => {
    rmSync(join(home, "projects", "web"), { recursive: true });
    const registry = await open(join(home, "gate.db"));
    await registry.all("DELETE FROM heads");
    await registry.close();
  },
  "another project's ledger in its place": async () => {
    const other = (events: AuditEvent[]) =>
      events.map((event) => ({ ...event, at: "2026-01-01T00:00:00.000Z", action_id: null }));
    await rechain(other, true);
  },
  "the whole folder deleted": () => rmSync(home, { recursive: true }),
};

describe("a terminal that has seen the newest event tells of it", () => {
  test.each(Object.entries(CUTS))("%s", async (_, cut) => {
    restore("seen");
    await cut();
    await gated.good("daemon", "start");
    const status = await gated.terminal.run(["status"]);
    const verify = await gated.terminal.run(["audit", "verify"]);
    expect(verify.code, verify.stdout + verify.stderr).toBe(1);
    expect(status.stderr).toContain('!! The audit log of "web" is not what it was');
    expect(verify.stderr).toContain('!! The audit log of "web" is not what it was');
    for (const args of [["pending"], ["proof", "status"]]) {
      const { stderr } = await gated.terminal.run(args);
      expect(stderr, args.join(" ")).toContain('!! The audit log of "web" is not what it was');
    }
    const { findings } = JSON.parse((await gated.terminal.run(["doctor", "--json"])).stdout);
    expect(findings).toContainEqual({
      check: "record",
      level: "problem",
      fix: "gate audit verify",
      message: expect.stringContaining('the audit log of "web" is not what it was'),
      repair: { kind: "page", page: "audit", project: "web" },
    });
    // It does not get used to it.
    expect((await gated.terminal.run(["audit", "verify", "--json"])).code).toBe(1);
  });
});

test("a ledger that only grows is no news, also over restarts and in every command", async () => {
  await startUnseen();
  for (const command of [["status"], ["log"], ["audit", "verify"]]) {
    await gated.write("src/more.ts", command.join());
    expect(await gated.terminal.run(command)).toMatchObject({ code: 0, stderr: "" });
    await gated.good("daemon", "stop");
    await gated.good("daemon", "start");
    expect(await gated.terminal.run(command)).toMatchObject({ code: 0, stderr: "" });
  }
  await gated.good("daemon", "stop");
  await rechain(shorter, true);
  await gated.good("daemon", "start");
  for (const command of [["log"], ["log", "--project", "web"]]) {
    expect((await gated.terminal.run(command)).stderr).toContain("is not what it was");
  }
});

test("an event that is missing in the middle is called missing, and approve looks back first", async () => {
  await startUnseen();
  const held = await gated.submit("write_file", { path: "held.txt", content: "x" });
  await gated.good("status");
  await gated.good("daemon", "stop");
  const { heads } = JSON.parse(
    `{"heads":${
      readFileSync(join(gated.terminal.folder, ".local/state/gate/heads.json"), "utf8")
    }}`,
  );
  const seen = heads.homes[home].web.seq;
  const ledger = await open(join(home, "projects", "web", "ledger.db"));
  await ledger.all("DROP TRIGGER audit_no_update");
  // The chain goes on behind a gap where the seen event was.
  await ledger.all("UPDATE audit SET seq = seq + 5 WHERE seq = ?", [seen]);
  await ledger.close();
  const registry = await open(join(home, "gate.db"));
  await registry.all("UPDATE heads SET seq = seq + 5 WHERE project_id = 'web'");
  await registry.close();
  await gated.good("daemon", "start");
  const { stderr } = await gated.terminal.run(["approve", held.id]);
  expect(stderr).toContain(`event ${seen} had been seen, and now it is missing from the chain`);
});

test("reject remembers the newest event, and looks back first, however it names the actions", async () => {
  await startUnseen();
  const held: string[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) {
    held.push((await gated.submit("write_file", { path: name, content: "x" })).id);
  }
  const why = ["--reason", "not now"];
  expect(await gated.good("reject", held[0]!, ...why)).toMatchObject({ stderr: "" });
  const path = join(gated.terminal.folder, ".local", "state", "gate", "heads.json");
  expect(JSON.parse(readFileSync(path, "utf8")).homes[home].web.seq).toBeGreaterThan(5);
  await gated.good("daemon", "stop");
  await rechain(changed, true);
  await gated.good("daemon", "start");
  for (const which of [[held[1]!], [held[2]!, held[3]!], ["--all"]]) {
    const { stderr } = await gated.good("reject", ...which, ...why);
    expect(stderr, which.join(" ")).toContain('!! The audit log of "web" is not what it was');
  }
});

test("a damaged memory is told, begun again, and nobody else can read it", async () => {
  await startUnseen();
  await gated.good("status");
  const path = join(gated.terminal.folder, ".local", "state", "gate", "heads.json");
  writeFileSync(path, "{");
  expect((await gated.terminal.run(["status"])).stderr).toContain("it is damaged");
  expect(await gated.terminal.run(["status"])).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(readFileSync(path, "utf8")).homes[home].web.seq).toBeGreaterThan(0);
});

test("a project that a person removes is forgotten", async () => {
  await startUnseen();
  await gated.good("status");
  await gated.good("project", "remove", "web");
  expect((await gated.terminal.run(["status"])).stderr).not.toContain("!!");
});

test("the system's journal remembers what the terminals were made to forget", async () => {
  restore("unseen");
  const tools = join(gated.terminal.folder, "tools");
  const journal = join(tools, "journal");
  mkdirSync(tools);
  writeFileSync(journal, "");
  const programs = { logger: `exec cat >> ${journal}`, journalctl: `exec cat ${journal}` };
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(tools, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  }
  gated.terminal.env.GATE_SYSTEM_PATH = tools;
  await gated.good("daemon", "start");
  await gated.write("src/four.ts", "4");
  await gated.good("daemon", "stop");
  await until("the journal has the head", () => readFileSync(journal, "utf8").includes(" web "));
  await rechain(shorter, true);
  rmSync(join(gated.terminal.folder, ".local"), { recursive: true, force: true });
  await gated.good("daemon", "start");
  const { code, stderr } = await gated.terminal.run(["audit", "verify"]);
  expect(code).toBe(1);
  expect(stderr).toContain("(the system's journal)");
});

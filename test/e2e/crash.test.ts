import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { SUBJECTS, until, World } from "./world.ts";

const SCRIPT = fileURLToPath(new URL("crashing_gate.ts", import.meta.url));
const OLD = "old line\n".repeat(8000);
const NEW = "the new line\n".repeat(9000);

interface Kind {
  tool: string;
  input: Record<string, unknown>;
  /** The request during which the daemon is killed. */
  verb: "approve" | "rollback";
}

const KINDS: Record<string, Kind> = {
  "a new file": {
    tool: "write_file",
    input: { path: "docs/new.txt", content: NEW },
    verb: "approve",
  },
  "a changed file": {
    tool: "write_file",
    input: { path: "docs/old.txt", content: NEW },
    verb: "approve",
  },
  "an edit": {
    tool: "edit_file",
    input: { path: "docs/one.txt", edits: [{ old_text: "one", new_text: "two" }] },
    verb: "approve",
  },
  "a deletion": { tool: "delete_file", input: { path: "docs/old.txt" }, verb: "approve" },
  "a move": {
    tool: "move_file",
    input: { from: "docs/old.txt", to: "docs/moved.txt" },
    verb: "approve",
  },
  "a rollback": {
    tool: "write_file",
    input: { path: "docs/old.txt", content: NEW },
    verb: "rollback",
  },
};

describe("a daemon killed during an approval or a rollback", () => {
  let world: World | null = null;
  let daemon: ChildProcess | null = null;

  afterEach(() => {
    daemon?.kill("SIGKILL");
    world?.remove();
  });

  async function start(): Promise<void> {
    daemon = spawn(SUBJECTS.bun[0], [SCRIPT], {
      env: {
        ...world!.env,
        GATE_HOME: world!.gateHome,
        CRASH_AT: join(world!.folder, "crash_at.txt"),
        CRASH_LOG: join(world!.folder, "steps.txt"),
      },
      stdio: ["ignore", "inherit", "inherit"],
    });
    await until("the daemon answers", () => fetch(`${url()}/healthz`).catch(() => null));
  }

  /** The running daemon passes the next steps, and crashes at this one; at none when empty. */
  function crashAt(step: string): void {
    writeFileSync(join(world!.folder, "crash_at.txt"), step);
    writeFileSync(join(world!.folder, "steps.txt"), "");
  }

  const url = () => `http://127.0.0.1:${world!.port}`;

  // Reads the token from its file, because `gate token` would start another daemon.
  async function send(scope: string, path: string, body?: unknown) {
    const token = readFileSync(join(world!.gateHome, "tokens", scope), "utf8").trim();
    const response = await fetch(`${url()}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // deno-lint-ignore no-explicit-any
    return { status: response.status, body: await response.json() as any };
  }

  async function open(): Promise<void> {
    world = await World.create("bun");
    world.write("gate.config.json", '{ "id": "demo", "policies": { "defaultEffect": "ask" } }');
    crashAt("");
    await start();
    await send("reviewer", "/api/hub/projects", { root: world.project });
  }

  /** Puts the files back and leaves an action that only awaits its verb. Returns its id. */
  async function prepare({ tool, input, verb }: Kind): Promise<string> {
    crashAt("");
    rmSync(join(world!.project, "docs"), { recursive: true, force: true });
    world!.write("docs/old.txt", OLD);
    world!.write("docs/one.txt", "one\n");
    const { body } = await send("agent", "/api/actions?project=demo", { tool, input });
    expect(body.status).toBe("pending");
    if (verb === "rollback") {
      const { status } = await send("reviewer", `/api/actions/${body.id}/approve`, {});
      expect(status).toBe(200);
    }
    return body.id;
  }

  const steps = () => readFileSync(join(world!.folder, "steps.txt"), "utf8").trim().split("\n");

  function state(): string {
    const names = ["new", "old", "one", "moved"];
    const hashes = names.map((name) => {
      const file = join(world!.project, `docs/${name}.txt`);
      return existsSync(file) ? createHash("sha256").update(readFileSync(file)).digest("hex") : "-";
    });
    return hashes.join(" ");
  }

  /** Runs without a crash. Returns the steps passed, and the state of the files before and after. */
  async function rehearse(kind: Kind) {
    const id = await prepare(kind);
    const before = state();
    crashAt("");
    expect((await send("reviewer", `/api/actions/${id}/${kind.verb}`, {})).status).toBe(200);
    const rehearsal = { passed: [...new Set(steps())], before, after: state() };
    expect(rehearsal.after).not.toBe(before);
    return rehearsal;
  }

  test.each(Object.entries(KINDS))(
    "%s: after a kill at any step, the file is whole and the ledger agrees with it",
    async (_, kind) => {
      await open();
      const { passed, before, after } = await rehearse(kind);
      expect(passed.length).toBeGreaterThan(2);
      // The daemon that has recovered from one crash is the next one to crash.
      for (const step of passed) {
        const id = await prepare(kind);
        expect(state(), step).toBe(before);
        const gone = once(daemon!, "exit");
        crashAt(step);
        void send("reviewer", `/api/actions/${id}/${kind.verb}`, {}).catch(() => {});
        await gone;
        expect(steps().at(-1)).toBe(step);
        crashAt("");
        await start();
        const { body: action } = await send("reviewer", `/api/actions/${id}`);
        const now = state();
        expect([before, after], step).toContain(now);
        expect({ step, ...seen(action) }).toEqual({ step, ...expected(kind, now === after) });
        const { body: chain } = await send("reviewer", "/api/audit/verify?project=demo");
        expect(chain.ok, step).toBe(true);
        // The restarted daemon has removed temporary files.
        const names = readdirSync(join(world!.project, "docs")).filter((name) =>
          !name.endsWith(".txt")
        );
        expect(names, step).toEqual([]);
      }
    },
    120_000,
  );

  // deno-lint-ignore no-explicit-any
  function seen({ status, execution, timeline }: any) {
    const types = timeline.map(({ type }: { type: string }) => type);
    const starts = types.filter((type: string) => type === "action.started").length;
    return { status, execution, starts };
  }

  function expected(kind: Kind, isDone: boolean) {
    const isApproval = kind.verb === "approve";
    return {
      status: !isApproval && isDone ? "rolled_back" : "approved",
      execution: !isApproval || isDone ? "succeeded" : "failed",
      starts: 1,
    };
  }
});

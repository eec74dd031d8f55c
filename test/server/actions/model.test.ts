import fc from "fast-check";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Action } from "../../../server/actions/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const agent = testCaller("agent");
const reviewer = testCaller("reviewer");
const TIMEOUT_S = 3_600;

type State = string | null;

/** The expected state of one action. */
interface Modelled {
  id: string;
  path: string;
  before: State;
  after: State;
  status: Action["status"];
  isDone: boolean;
  of: Modelled | null;
  created_at: number;
}

const path = fc.constantFrom("free/a", "free/b", "held/a", "held/b");
const content = fc.constantFrom("", "one", "two", "three\n");
const which = fc.nat({ max: 12 });
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("submit" as const), path, content }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("approve" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reject" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("edit" as const), which, content }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("rollback" as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("replay" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("hand" as const), path, content: fc.option(content) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("later" as const), ms: fc.nat(3_000_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

test(
  "the gate agrees with the model after any submissions, decisions, rollbacks and replays",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30 }), async (history) => {
        const gate = await createTestGate({
          policies: {
            defaultEffect: "allow",
            askPaths: ["held/**"],
            approvalTimeoutSeconds: TIMEOUT_S,
          },
        });
        const run = new Run(gate);
        for (const one of history) await run.step(one);
        await run.compare();
        await gate.close();
      }),
      { numRuns: 60, endOnFailure: true },
    );
  },
  240_000,
);

class Run {
  readonly #gate: TestGate;
  readonly #files = new Map<string, State>();
  readonly #actions: Modelled[] = [];

  constructor(gate: TestGate) {
    this.#gate = gate;
  }

  async step(one: Step): Promise<void> {
    if (one.do === "submit") return await this.#submit(one.path, one.content);
    if (one.do === "hand") return this.#byHand(one.path, one.content);
    if (one.do === "later") return void this.#gate.clock.advance(one.ms);
    if (one.do === "restart") return await this.#gate.reopen();
    const action = this.#actions[one.which % (this.#actions.length || 1)];
    if (!action) return;
    this.#expire();
    if (one.do === "rollback") return await this.#rollback(action);
    if (one.do === "replay") return await this.#replay(action);
    await this.#decide(action, one);
  }

  /** Expects the gate's actions, files and events to equal the model's. */
  async compare(): Promise<void> {
    this.#expire();
    const { actions, audit } = this.#gate.project;
    await actions.expireDue();
    for (const { id, status, isDone } of this.#actions) {
      const found = await actions.get(id);
      expect({ id, status: found.status, isDone: found.execution === "succeeded" }).toEqual({
        id,
        status,
        isDone,
      });
    }
    for (const [path, state] of this.#files) expect(this.#onDisk(path)).toBe(state);
    expect(await audit.verify()).toMatchObject({ ok: true });
    const events = await this.#gate.audit();
    for (const { id, isDone } of this.#actions) {
      const own = events.filter(({ action_id }) => action_id === id).map(({ type }) => type);
      const decided = own.filter((type) => /approved|rejected|cancelled|expired/.test(type));
      expect(decided.length).toBeLessThanOrEqual(1);
      expect(own.filter((type) => type === "action.finished")).toHaveLength(isDone ? 1 : 0);
    }
  }

  async #submit(path: string, content: string): Promise<void> {
    const { actions } = this.#gate.project;
    const input = { tool: "write_file", input: { path, content } };
    this.#entered(path, content, (await actions.submit(input, agent)).action);
  }

  #entered(path: string, after: string, answer: Action): void {
    this.#expire();
    const before = this.#files.get(path) ?? null;
    const now = this.#gate.clock.now;
    const isHeld = path.startsWith("held");
    const twin = this.#actions.find((one) =>
      one.status === "pending" && one.path === path && one.before === before &&
      one.after === after && now - one.created_at <= 600_000
    );
    if (isHeld && twin) return expect(answer.id).toBe(twin.id);
    expect(this.#actions.map(({ id }) => id)).not.toContain(answer.id);
    const status = isHeld ? "pending" as const : "approved" as const;
    const made = { id: answer.id, path, before, after, of: null, created_at: now };
    this.#actions.push({ ...made, status, isDone: !isHeld });
    if (!isHeld) this.#files.set(path, after);
  }

  async #decide(action: Modelled, one: Step & { do: "approve" | "reject" | "cancel" | "edit" }) {
    const { actions } = this.#gate.project;
    const { id, path } = action;
    const isOpen = action.status === "pending";
    const verb = {
      approve: () => actions.approve(id, {}, reviewer),
      reject: () => actions.reject(id, {}, reviewer),
      cancel: () => actions.cancel(id, {}, agent),
      edit: () =>
        actions.approveWithEdit(id, { content: (one as { content: string }).content }, reviewer),
    }[one.do];
    const isApproval = one.do === "approve" || one.do === "edit";
    const fits = !isApproval || (this.#files.get(path) ?? null) === action.before;
    if (!isOpen || !fits) return await expect(verb()).rejects.toMatchObject({ code: "conflict" });
    await verb();
    if (!isApproval) return void (action.status = one.do === "reject" ? "rejected" : "cancelled");
    if (one.do === "edit") action.after = one.content;
    Object.assign(action, { status: "approved", isDone: true });
    this.#files.set(path, action.after);
  }

  async #rollback(action: Modelled): Promise<void> {
    const answer = this.#gate.project.actions.rollback(action.id, {}, reviewer);
    const now = this.#files.get(action.path) ?? null;
    const fits = now === action.before || now === action.after;
    if (action.status !== "approved" || !action.isDone || !fits) {
      return await expect(answer).rejects.toMatchObject({ code: "conflict" });
    }
    const { rollback } = await answer;
    if (now === action.before) {
      expect(rollback).toBeNull();
      return void (action.status = "rolled_back");
    }
    const { path, before, after } = action;
    const created_at = this.#gate.clock.now;
    this.#actions.push({
      id: rollback!.id,
      path,
      before: after,
      after: before,
      of: action,
      created_at,
      status: "approved",
      isDone: true,
    });
    this.#files.set(path, before);
    let undone = true;
    for (let behind: Modelled | null = action; behind; behind = behind.of) {
      behind.status = undone ? "rolled_back" : "approved";
      undone = !undone;
    }
  }

  async #replay(action: Modelled): Promise<void> {
    const answer = this.#gate.project.actions.replay(action.id, reviewer);
    if (action.status !== "rolled_back" || action.of) {
      return await expect(answer).rejects.toMatchObject({ code: "conflict" });
    }
    this.#entered(action.path, action.after!, (await answer).action);
  }

  #byHand(path: string, content: State): void {
    this.#files.set(path, content);
    if (content === null) rmSync(join(this.#gate.root, path), { force: true });
    else this.#gate.write(path, content);
  }

  #expire(): void {
    const { now } = this.#gate.clock;
    for (const action of this.#actions) {
      const isDue = action.created_at + TIMEOUT_S * 1000 <= now;
      if (action.status === "pending" && isDue) action.status = "expired";
    }
  }

  #onDisk(path: string): State {
    const whole = join(this.#gate.root, path);
    return existsSync(whole) ? readFileSync(whole, "utf8") : null;
  }
}

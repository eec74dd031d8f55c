import fc from "fast-check";
import { expect, test } from "vitest";
import { openSessions } from "./harness.ts";

type State = string | null;

/** The state that the gate should show for one write or deletion. */
interface Modelled {
  id: string;
  session: number;
  path: string;
  before: State;
  after: State;
  isUndone: boolean;
}

const PATHS = ["a", "b", "new/c"];
const session = fc.nat({ max: 1 });
const path = fc.constantFrom(...PATHS);
const content = fc.constantFrom("", "one", "two", "three\n");
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("write" as const), session, path, content }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), session, path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("hand" as const), path, content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("whole" as const), session }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("part" as const),
      session,
      picks: fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

test("any history of sessions and their rollbacks goes as the model says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 20 }), async (history) => {
      const around = await openSessions();
      const ids = [await around.open("codex"), await around.open("claude")];
      const run = new Run(around, ids);
      for (const one of history) await run.step(one);
      await run.compare();
      await around.gate.close();
    }),
    { numRuns: 30, endOnFailure: true },
  );
}, 240_000);

class Run {
  readonly #around: Awaited<ReturnType<typeof openSessions>>;
  readonly #sessions: string[];
  readonly #files = new Map<string, State>();
  readonly #done: Modelled[] = [];

  constructor(around: Awaited<ReturnType<typeof openSessions>>, sessions: string[]) {
    this.#around = around;
    this.#sessions = sessions;
  }

  async step(one: Step): Promise<void> {
    if (one.do === "restart") return await this.#around.gate.reopen();
    if (one.do === "hand") {
      this.#around.gate.write(one.path, one.content);
      return void this.#files.set(one.path, one.content);
    }
    if (one.do === "write" || one.do === "delete") return await this.#change(one);
    const own = this.#done.filter(({ session }) => session === one.session).reverse();
    if (one.do === "whole") return await this.#undo(one.session, own.filter((a) => !a.isUndone));
    const picked = new Set(one.picks.map((pick) => own[pick % (own.length || 1)]));
    const chosen = own.filter((action) => picked.has(action));
    if (chosen.length > 0) await this.#undo(one.session, chosen, chosen.map(({ id }) => id));
  }

  /** Files, statuses, rollback states and the chain. */
  async compare(): Promise<void> {
    const { gate, ask, read } = this.#around;
    for (const path of PATHS) expect([path, read(path)]).toEqual([path, this.#at(path)]);
    for (const { id, isUndone } of this.#done) {
      const { status } = await gate.project.actions.get(id);
      expect([id, status]).toEqual([id, isUndone ? "rolled_back" : "approved"]);
    }
    for (const [at, id] of this.#sessions.entries()) {
      const own = this.#done.filter(({ session }) => session === at);
      const undone = own.filter(({ isUndone }) => isUndone).length;
      const { body } = await ask("GET", `/api/sessions/${id}/status`);
      const state = undone === 0 ? "none" : undone < own.length ? "partial" : "full";
      expect(body.rollback_state).toBe(state);
    }
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
  }

  async #change(one: Step & { do: "write" | "delete" }): Promise<void> {
    const { path, session } = one;
    const before = this.#at(path);
    const after = one.do === "write" ? one.content : null;
    if (before === null && after === null) return;
    const input = one.do === "write" ? { path, content: one.content } : { path };
    const made = await this.#around.submit(this.#sessions[session]!, `${one.do}_file`, input);
    expect(made).toMatchObject({ status: "approved", execution: "succeeded" });
    this.#done.push({ id: made.id, session, path, before, after, isUndone: false });
    this.#files.set(path, after);
  }

  /** `chosen` newest first: all of it is undone, or nothing is touched. */
  async #undo(session: number, chosen: Modelled[], ids?: string[]): Promise<void> {
    const { back, part } = this.#around;
    const name = this.#sessions[session]!;
    const after = this.#foreseen(chosen);
    const dry = ids
      ? await part(name, ids, { dry_run: true })
      : await back(name, { dry_run: true });
    const answer = ids ? await part(name, ids) : await back(name);
    expect([dry.status, answer.status]).toEqual(after ? [200, 200] : [409, 409]);
    if (!after) return;
    for (const [path, state] of after) this.#files.set(path, state);
    for (const action of chosen) action.isUndone = true;
  }

  /** The files afterwards; null where it is refused. */
  #foreseen(chosen: Modelled[]): Map<string, State> | null {
    const files = new Map(this.#files);
    for (const action of chosen) {
      if (action.isUndone) return null;
      // Whatever stands, was done later to the same file and is not chosen, depends on it.
      const later = this.#done.slice(this.#done.indexOf(action) + 1);
      const isNeeded = later.some((other) =>
        other.path === action.path && !other.isUndone && !chosen.includes(other)
      );
      const now = files.get(action.path) ?? null;
      if (isNeeded || (now !== action.before && now !== action.after)) return null;
      files.set(action.path, action.before);
    }
    return files;
  }

  #at(path: string): State {
    return this.#files.get(path) ?? null;
  }
}

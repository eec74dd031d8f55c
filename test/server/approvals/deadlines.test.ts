import fc from "fast-check";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { deriveStanding, suffices } from "../../../server/actions/review/standing.ts";
import { duesOf } from "../../../server/actions/review/notices.ts";
import { HeldRoute } from "../../../server/approval_routes/schema.ts";
import { GateError } from "../../../server/errors.ts";
import type { AuditEvent } from "../../../server/evidence/schema.ts";
import { as, openStage, type Stage } from "./stage.ts";

/**
 * `GATE_TEST_DEADLINES` sets the number of histories against a real ledger, fifty at a time;
 * `GATE_TEST_SEED` repeats a failed run.
 */
const HISTORIES = Number(process.env["GATE_TEST_DEADLINES"] ?? 1_000);
const SEED = Number(process.env["GATE_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const TOGETHER = 50;
const MINUTE = 60_000;

const MEMBERS = ["ann", "ben", "cy"];
const ROUTES = [
  { quorum: 1, expires_after_seconds: 600 },
  { quorum: 2, expires_after_seconds: 3_600, remind_at: [0.5, 0.9] },
  { quorum: 3, expires_after_seconds: 1_200, remind_at: [0.1, 0.2, 0.99] },
  {
    quorum: 2,
    expires_after_seconds: 7_200,
    escalate_after_seconds: 900,
    escalate_to: ["dan"],
  },
  { quorum: 2, ordered: true, expires_after_seconds: 1_800, remind_at: [] },
].map((route, i) => ({
  remind_at: [0.5, 0.9],
  ...route,
  id: `r${i}`,
  name: `r${i}`,
  match: { paths: [`r${i}/**`] },
  approvers: { members: MEMBERS },
}));

type Step =
  | { do: "hold"; route: number }
  | { do: "advance"; minutes: number }
  | { do: "check" }
  | { do: "restart" }
  | { do: "vote" | "reject"; action: number; who: string };

const who = fc.constantFrom(...MEMBERS, "dan");
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("hold" as const),
      route: fc.nat(ROUTES.length - 1),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("advance" as const),
      minutes: fc.constantFrom(1, 2, 5, 9, 15, 31),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("check" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("vote" as const),
      action: fc.nat(TOGETHER - 1),
      who,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("reject" as const),
      action: fc.nat(TOGETHER - 1),
      who,
    }),
  },
);

/** The test's own model of a held action. */
interface Model {
  id: string;
  route: (typeof ROUTES)[number];
  start: number;
  end: number;
  voters: Set<string>;
  status: "pending" | "approved" | "rejected" | "expired";
  /** The notices that a check while it waited must have sent. */
  owed: Set<string>;
  ended_at: number;
}

function noticesOf({ route, start, end }: Model): { name: string; at: number }[] {
  const reminders = route.remind_at.map((part, i) => ({
    name: `reminder.sent ${i + 1}`,
    at: start + Math.round(part * (end - start)),
  }));
  const after = (route as { escalate_after_seconds?: number }).escalate_after_seconds;
  if (after === undefined) return reminders;
  return [...reminders, { name: "escalation.raised 1", at: start + after * 1000 }];
}

describe("against a real ledger", () => {
  test(`${HISTORIES} histories with restarts: time approves nothing and loses nothing`, {
    timeout: Math.max(300_000, HISTORIES * 600),
  }, async () => {
    console.log(`${HISTORIES} histories, seed ${SEED}`);
    const stage = await openStage(
      { approvers: { role: "admin" }, match: { paths: ["never/**"] } },
      { policies: { defaultEffect: "ask", maxHeldPerSession: 10_000 } },
    );
    for (const route of ROUTES) {
      const added = await stage.ask("reviewer", "POST", "/api/approval-routes", route);
      expect(added.status).toBe(201);
    }
    let number = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2 * TOGETHER, maxLength: 4 * TOGETHER }),
        fc.nat(4 * TOGETHER),
        async (steps, restart_at) => {
          const history = [...steps];
          history.splice(Math.min(restart_at, history.length), 0, { do: "restart" });
          await runHistories(stage, history, () => ++number);
        },
      ),
      { numRuns: Math.ceil(HISTORIES / TOGETHER), seed: SEED, endOnFailure: true },
    );
    const verified = await (await stage.gate.request("GET", "/api/audit/verify")).json();
    expect(verified).toMatchObject({ ok: true });
  });
});

async function runHistories(stage: Stage, steps: Step[], next: () => number): Promise<void> {
  const { gate } = stage;
  const { clock } = gate;
  const models: Model[] = [];
  const checked = () => {
    for (const one of models.filter(({ status }) => status === "pending")) {
      if (clock.now >= one.end) {
        one.status = "expired";
        one.ended_at = clock.now;
        continue;
      }
      for (const { name, at } of noticesOf(one)) if (at <= clock.now) one.owed.add(name);
    }
  };
  const hold = async (route: (typeof ROUTES)[number]) => {
    const { id, expires_at } = await stage.hold(`${route.id}/${next()}.txt`);
    const end = clock.now + route.expires_after_seconds * 1000;
    expect(Date.parse(expires_at)).toBe(end);
    const model = { id, route, start: clock.now, end, voters: new Set<string>(), ended_at: 0 };
    models.push({ ...model, status: "pending", owed: new Set() });
  };
  for (const one of steps) {
    if (one.do === "hold") {
      if (models.length < TOGETHER) await hold(ROUTES[one.route]!);
    } else if (one.do === "advance") clock.advance(one.minutes * MINUTE);
    else if (one.do === "check") {
      await gate.project.actions.expireDue();
      checked();
    } else if (one.do === "restart") {
      await gate.reopen();
      checked();
    } else {
      const model = models[one.action];
      if (model) await decide(stage, model, one, checked);
    }
  }
  while (models.length < TOGETHER) await hold(ROUTES[models.length % ROUTES.length]!);
  clock.advance(121 * MINUTE);
  await gate.project.actions.expireDue();
  checked();
  for (const model of models) await compare(stage, model);
}

async function decide(
  { gate }: Stage,
  model: Model,
  { do: verb, who }: { do: "vote" | "reject"; who: string },
  checked: () => void,
): Promise<void> {
  const { actions } = gate.project;
  const { now } = gate.clock;
  const isOpen = model.status === "pending" && now < model.end;
  try {
    const { status } = verb === "vote"
      ? await actions.approve(model.id, {}, as(who))
      : await actions.reject(model.id, {}, as(who));
    expect(isOpen).toBe(true);
    if (verb === "vote") model.voters.add(who);
    model.status = status as Model["status"];
    if (status !== "pending") model.ended_at = now;
    if (verb === "reject") expect(status).toBe("rejected");
    else expect(status === "approved").toBe(model.voters.size >= model.route.quorum);
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    if (!isOpen) {
      expect(error.code).toBe("conflict");
      // A late decision looks at what is due.
      if (model.status === "pending") checked();
      return;
    }
    // Only those who are not asked, or not yet.
    expect(verb).toBe("vote");
    expect(["forbidden", "conflict"]).toContain(error.code);
    if (error.code === "conflict") expect("ordered" in model.route).toBe(true);
    else expect(who).toBe("dan");
  }
}

async function compare({ gate }: Stage, model: Model): Promise<void> {
  const { status, decided_by, timeline } = await gate.project.actions.detail(model.id);
  const types = timeline.map(({ type }) => type);
  expect([model.id, status]).toEqual([model.id, model.status]);
  expect(decided_by === "system").toBe(status === "expired");
  const votes = timeline.filter(({ type, data }) =>
    type === "vote.cast" && data.verdict === "approve"
  );
  const people = votes.map(({ data }) => data.member_id);
  expect(new Set(people)).toEqual(model.voters);
  expect(people.length).toBe(model.voters.size);
  expect(votes.every(({ at }) => Date.parse(at) < model.end)).toBe(true);
  if (status === "approved") expect(people.length).toBeGreaterThanOrEqual(model.route.quorum);
  const raised = types.indexOf("escalation.raised");
  const byDan = timeline.findIndex(({ type, data }) =>
    type === "vote.cast" && data.verdict === "approve" && data.member_id === "dan"
  );
  if (byDan >= 0) expect(raised >= 0 && raised < byDan).toBe(true);
  const sent = timeline.filter(({ type }) => /^(reminder\.sent|escalation\.raised)$/.test(type))
    .map(({ type, data }) => `${type} ${data.number}`);
  expect(new Set(sent).size).toBe(sent.length);
  expect([...model.owed].filter((name) => !sent.includes(name))).toEqual([]);
  const possible = noticesOf(model).filter(({ at }) => at <= model.ended_at && at < model.end);
  expect(sent.filter((name) => !possible.some((one) => one.name === name))).toEqual([]);
  const closed = types.filter((type) => type === "escalation.closed").length;
  expect(closed).toBe(raised >= 0 ? 1 : 0);
}

describe("the rules alone", () => {
  const event = fc.oneof(
    fc.record({
      type: fc.constant("vote.cast"),
      member_id: fc.constantFrom("ann", "ben", "cy", "dan", "eve", "vic"),
      verdict: fc.constantFrom("approve", "reject"),
      digest: fc.constantFrom("d1", "d2"),
    }),
    fc.record({ type: fc.constantFrom("reminder.sent", "escalation.raised"), number: fc.nat(3) }),
    fc.record({ type: fc.constant("action.edited"), member_id: fc.constantFrom("ann", "ben") }),
  );
  const route = fc.record({
    quorum: fc.integer({ min: 1, max: 3 }),
    ordered: fc.boolean(),
    edit_needs_other: fc.boolean(),
    remind_at: fc.array(fc.double({ min: 0.01, max: 0.99, noNaN: true }), { maxLength: 4 }),
    escalate_after_seconds: fc.option(fc.integer({ min: 1, max: 9_000 })),
  });
  const PEOPLE = [
    ...["ann", "ben", "cy", "dan"].map((id) => ({ id, name: id, role: "reviewer" as const })),
    { id: "vic", name: "vic", role: "viewer" as const },
  ];

  test("10,000 histories: only votes approve, each notice is due once, in any order of restarts", () => {
    fc.assert(
      fc.property(
        route,
        fc.array(event, { maxLength: 12 }),
        fc.constantFrom(null, "ann", "ben"),
        fc.integer({ min: 1, max: 36_000 }),
        fc.array(fc.nat(40_000), { maxLength: 8 }),
        (terms, story, requester, span, checks) => {
          const held = HeldRoute.parse({
            ...terms,
            id: "r",
            name: "r",
            approvers: { members: ["ann", "ben", "cy", "vic"] },
            escalate_to: terms.escalate_after_seconds === null ? [] : ["dan"],
          });
          const events = story.map(toEvent);
          if (requester !== null) {
            events.unshift(toEvent({ type: "action.submitted", member_id: requester }, -1));
          }
          const facts = { route: held, people: PEOPLE, events, counts: () => true };
          const standing = deriveStanding({ ...facts, digest: "d1" });
          // A stranger, a viewer, the requester and another version never count.
          const able = ["ann", "ben", "cy", "dan"].filter((id) => id !== requester);
          for (const id of standing.approved) {
            expect(able).toContain(id);
            const isVote = (one: typeof story[number]) =>
              one.type === "vote.cast" && "verdict" in one && one.member_id === id &&
              one.verdict === "approve" && one.digest === "d1";
            expect(story.some(isVote)).toBe(true);
          }
          expect(new Set(standing.approved).size).toBe(standing.approved.length);
          for (const id of standing.asked) {
            expect(able).toContain(id);
            expect(standing.approved).not.toContain(id);
            const after = standing.approved.length + 1;
            if (suffices(standing, id, false)) expect(after).toBeGreaterThanOrEqual(held.quorum);
          }
          // Whenever it is checked, before or after a restart, each notice comes once.
          const created = Date.UTC(2026, 0, 1);
          const row = {
            route: held,
            created_at: new Date(created).toISOString(),
            expires_at: new Date(created + span * 1000).toISOString(),
          };
          const all = duesOf({ ...row, events: [] });
          const sent: { type: string; data: { number: number } }[] = [];
          for (const at of checks.toSorted((a, b) => a - b)) {
            const now = new Date(created + at * 1000).toISOString();
            if (now >= row.expires_at) break;
            const due = duesOf({ ...row, events: sent }).filter((one) => one.at <= now);
            for (const { type, number } of due) sent.push({ type, data: { number } });
            const expected = all.filter((one) => one.at <= now).map(nameOf).sort();
            expect(sent.map(({ type, data }) => `${type} ${data.number}`).sort()).toEqual(expected);
          }
          expect(all.every(({ at }) => at < row.expires_at)).toBe(true);
        },
      ),
      { numRuns: 10_000, seed: SEED },
    );
  });

  function nameOf({ type, number }: { type: string; number: number }): string {
    return `${type} ${number}`;
  }

  function toEvent({ type, ...data }: { type: string; member_id?: string }, seq: number) {
    const actor = { kind: data.member_id ? "reviewer" : "system", id: data.member_id ?? "gate" };
    return { seq, at: "2026-01-01T00:00:00.000Z", type, actor, data } as unknown as AuditEvent;
  }
});

import { describe, expect, test, vi } from "vitest";
import { Journal, readHeadLine } from "../../../server/evidence/journal.ts";
import type { AuditEvent } from "../../../server/evidence/schema.ts";

const HOME = "/home/dev/.gate";

function event(seq: number, more: Partial<AuditEvent> = {}): AuditEvent {
  return {
    seq,
    at: "2026-01-01T00:00:00.000Z",
    project_id: "web",
    session_id: null,
    action_id: null,
    type: "action.submitted",
    actor: { kind: "agent", id: "codex" },
    data: {},
    prev_hash: "0".repeat(64),
    hash: seq.toString(16).padStart(64, "0"),
    ...more,
  };
}

describe("the journal", () => {
  const lines: string[] = [];
  const open = () => {
    vi.useFakeTimers();
    lines.length = 0;
    return new Journal((line) => lines.push(line), HOME);
  };

  test("gets a person's decision within a second, and much else once a minute", () => {
    const journal = open();
    for (let seq = 1; seq <= 900; seq++) journal.note([event(seq)]);
    vi.advanceTimersByTime(59_000);
    expect(lines).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(lines.map((line) => readHeadLine(line, HOME)?.seq)).toEqual([900]);
    journal.note([event(901, { actor: { kind: "reviewer", id: "eve" } })]);
    journal.note([event(902), event(903, { project_id: "other one" })]);
    vi.advanceTimersByTime(1_000);
    expect(lines.slice(1).map((line) => readHeadLine(line, HOME))).toMatchObject([
      { project_id: "web", seq: 901 },
      { project_id: "other one", seq: 903 },
    ]);
  });

  test.each<[string, Partial<AuditEvent>]>([
    ["a checkpoint", { seq: 2_000 }],
    ["a change of the policy", { type: "policy.changed" }],
    ["a change of the proof", { type: "proof.changed" }],
  ])("hears of %s at once", (_, more) => {
    const journal = open();
    journal.note([event(7)]);
    journal.note([event(8, more)]);
    vi.advanceTimersByTime(1_000);
    expect(lines.length).toBe(1);
  });

  test("gets the rest when the daemon ends", () => {
    const journal = open();
    journal.note([event(7)]);
    journal.flush();
    journal.flush();
    expect(lines.length).toBe(1);
    vi.useRealTimers();
  });

  test.each([
    "",
    "head",
    `head ${"0".repeat(16)} web 1 ${"0".repeat(64)}`,
    "head x web 1 y",
    "head 0 %E0%A4%A web",
  ])("does not take %j for its own line", (line) => {
    expect(readHeadLine(line, HOME)).toBeNull();
  });
});

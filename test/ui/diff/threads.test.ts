import { describe, expect, test } from "vitest";
import type { ActionDetail } from "../../../server/actions/schema.ts";
import { threadsOf } from "../../../ui/diff/threads.ts";

const PATH = "src/a.ts";

/** A rejected version of the file, with the comments and settlements of its rejection. */
function rejected(id: string, after: string, data: Record<string, unknown>): ActionDetail {
  const step = {
    ...{ seq: 1, at: "2026-11-28T10:00:00.000Z", type: "action.rejected", data },
    actor: { kind: "reviewer", id: "ana" },
  };
  const sides = { before: { text: "one\ntwo\n" }, after: { text: after } };
  return { id, path: PATH, files: null, timeline: [step], ...sides } as unknown as ActionDetail;
}

const comment = (line: number, text: string, more = {}) => ({
  ...{ path: PATH, line, side: "after", text, ...more },
});
const now = (after: string) => ({ before: "one\ntwo\n", after });

describe("threadsOf()", () => {
  test("a line that stays is found where it is now", () => {
    const first = rejected("a", "one\n2\n", { comments: [comment(2, "spell it out")] });
    const [thread] = threadsOf(PATH, now("zero\none\n2\n"), [first]);
    expect(thread).toMatchObject({
      ...{ id: "a/0", line: 3, quote: "2", became: "unchanged", side: "after" },
      said: [{ text: "spell it out", by: "ana", action_id: "a" }],
    });
  });

  test("a line that changed is found at what replaced it", () => {
    const first = rejected("a", "one\n2\n", { comments: [comment(2, "spell it out")] });
    const [thread] = threadsOf(PATH, now("one\ntwo, spelt\n"), [first]);
    expect(thread).toMatchObject({ line: 2, quote: "2", became: "changed" });
  });

  test("a line that was removed keeps its comment in the file", () => {
    const first = rejected("a", "one\ntwo\nthree", { comments: [comment(3, "no third")] });
    const [thread] = threadsOf(PATH, now("one\ntwo"), [first]);
    expect(thread).toMatchObject({ line: 2, became: "changed" });
  });

  test("an answer belongs to its thread and moves it to the line of the answer", () => {
    const first = rejected("a", "one\n2\n", { comments: [comment(2, "spell it out")] });
    const answer = comment(1, "still not", { answers: "a/0" });
    const second = rejected("b", "two!\none\n", { comments: [answer] });
    const threads = threadsOf(PATH, now("two!\none\n"), [first, second]);
    expect(threads).toHaveLength(1);
    expect(threads[0]).toMatchObject({ id: "a/0", line: 1, quote: "two!", became: "unchanged" });
    expect(threads[0]!.said.map(({ text }) => text)).toEqual(["spell it out", "still not"]);
  });

  test("a settled comment is gone, and one on another file is none", () => {
    const other = { ...comment(1, "x"), path: "src/b.ts" };
    const comments = [other, comment(1, "settled"), comment(2, "open")];
    const first = rejected("a", "one\n2\n", { comments });
    const second = rejected("b", "one\n2\n", { settled: ["a/1"] });
    const threads = threadsOf(PATH, now("one\n2\n"), [first, second]);
    expect(threads.map(({ id }) => id)).toEqual(["a/2"]);
  });

  test("without the text of then or now nothing is claimed about the line", () => {
    const first = rejected("a", "one\n", { comments: [comment(1, "why?")] });
    expect(threadsOf(PATH, { before: null, after: null }, [first])[0])
      .toMatchObject({ line: 1, became: "unknown" });
  });
});

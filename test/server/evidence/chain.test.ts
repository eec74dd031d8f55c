import fc from "fast-check";
import { expect, test } from "vitest";
import { canonical } from "../../../server/evidence/canonical.ts";
import { hashedText } from "../../../server/evidence/chain.ts";
import type { AuditEvent } from "../../../server/evidence/schema.ts";

const text = fc.string({ unit: "grapheme" });
const orNull = fc.option(text);

test("the hashed text is the RFC 8785 form of every field but the hash", () => {
  const events = fc.record({
    ...{ seq: fc.nat(), at: text, project_id: text, session_id: orNull, action_id: orNull },
    ...{ type: text, actor: fc.record({ kind: text, id: text }) },
    data: fc.dictionary(text, fc.jsonValue()),
    prev_hash: text,
  });
  fc.assert(fc.property(events, (event) => {
    const one = JSON.parse(JSON.stringify(event).toWellFormed()) as Omit<AuditEvent, "hash">;
    expect(hashedText(one)).toBe(canonical(one));
    expect(hashedText({ ...one, hash: "x" } as AuditEvent)).toBe(canonical(one));
  }));
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { redactEvent, redactText } from "../../../server/audit/redact.ts";
import { canonical } from "../../../server/evidence/chain.ts";
import type { NewEvent } from "../../../server/db/ledger.ts";

const letters = "abcdefghijABCDEFGHIJ0123456789abcdefghij";

test.each([
  ["AKIAIOSFODNN7EXAMPLE", "an AWS key"],
  ["ASIAIOSFODNN7EXAMPLE", "a temporary AWS key"],
  [`ghs_${letters.slice(0, 36)}`, "a GitHub server token"],
  [`glpat-${letters.slice(0, 20)}`, "a GitLab token"],
  [`ghp_${letters.slice(0, 36)}`, "a GitHub token"],
  [`github_pat_${letters}`, "a fine-grained GitHub token"],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----", "a key block"],
  ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r", "a key block cut off"],
  ["xoxb-1234567890-abcdefghij", "a Slack token"],
  [`sk-${letters}`, "an API key"],
  [`eyJ${letters}.eyJ${letters}.${letters}`, "a JWT"],
])("redactText() masks a secret inside a text: %s", (secret) => {
  const text = redactText(`before ${secret} after`);
  expect(text).toContain("[redacted]");
  expect(text).toMatch(/^before /);
  expect(text).not.toContain(secret.slice(12, 24));
});

test.each([
  ["curl -H 'Authorization: Bearer abc.def-123456' x", "abc.def-123456"],
  ["mysql --password=hunter2 db", "hunter2"],
  ["PASSWORD='two words' run", "two words"],
  ["DB_PASSWORD=hunter2", "hunter2"],
  ['{"password": "hunter2"}', "hunter2"],
  ["api_key: hunter2", "hunter2"],
  ["export API-KEY=hunter2", "hunter2"],
  ["git clone https://me:hunter2@example.org/x", "hunter2"],
  ["curl -H 'authorization: basic aHVudGVyMjo=' x", "aHVudGVyMjo"],
  ["passwd=hunter2", "hunter2"],
  ["my_pwd: hunter2", "hunter2"],
  ["client_secret=hunter2", "hunter2"],
  ["TOKEN=hunter2", "hunter2"],
  ["access-key=hunter2", "hunter2"],
])("redactText() masks the value after a key such as password: %s", (text, secret) => {
  expect(redactText(text)).not.toContain(secret);
  expect(redactText(text)).toContain("[redacted]");
});

test.each([
  "the password is in the vault",
  "git commit -m 'fix: token parser'",
  "/home/me/bearer/file.txt",
  "https://example.org:443/a@b",
  "AKIA is a prefix",
])("redactText() keeps ordinary text: %s", (text) => {
  expect(redactText(text)).toBe(text);
});

const event = (data: Record<string, unknown>): NewEvent => ({
  session_id: null,
  action_id: null,
  type: "action.submitted",
  actor: { kind: "agent", id: "token=abcdef" },
  data,
});

test("redactEvent() masks secrets at any depth and in the actor", () => {
  const clean = redactEvent(event({ a: [{ b: "password=x1y2z3" }] }));
  expect(clean.data).toEqual({ a: [{ b: "password=[redacted]" }] });
  expect(clean.actor.id).toBe("token=[redacted]");
});

test("redactEvent() cuts a long text and adds the number of cut characters", () => {
  const { data } = redactEvent(event({ a: "x".repeat(10_000) }));
  expect(data.a).toMatch(/^x{8192}… \[1808 more characters\]$/);
});

test("the canonical JSON of any redacted data parses back to itself", () => {
  const anything = fc.dictionary(fc.string({ unit: "binary" }), fc.anything({ maxDepth: 3 }));
  fc.assert(fc.property(anything, (data) => {
    const clean = redactEvent(event({ ...data, lone: "\ud800", none: undefined, nan: NaN }));
    const text = canonical(clean.data);
    expect(canonical(JSON.parse(text))).toBe(text);
  }));
});

test("redactText() takes less than 2 s for hostile texts", () => {
  const hostile = ["password".repeat(20_000), "://".repeat(50_000), "-----BEGIN ".repeat(20_000)];
  const started = performance.now();
  for (const text of hostile) redactText(text);
  expect(performance.now() - started).toBeLessThan(2_000);
});

import { expect, test } from "vitest";
import { redactedDiff } from "../../../cli/hosts/redacted_diff.ts";

test.each([
  '{"env": {"A": "${x}", "PLAIN": "s3cret"}, "z": 1}',
  '{\n  "env": {\n    "A": "}",\n    "B": "s3cret"\n  }\n}',
  '{"environment": {"A": "s3cret"}}',
  '{"headers": {"X-Thing": "s3cret"}}',
  '{"primaryApiKey": "s3cret"}',
  '{"oauth": {"accessToken": "s3cret"}}',
  '{"args": ["--api-key", "s3cret"]}',
  '{"args": [\n"--token=s3cret"\n]}',
  '{"url": "https://me:s3cret@host/x"}',
  "[a.env]\nB = 's3cret'\n",
  "[a]\nenv = { B = \"s3cret\", C = 's3cret' }\n",
  'bearer_token = "s3cret"\n',
])("redactedDiff() hides the secret of %j in context and changed lines", (text) => {
  expect(text).toContain("s3cret");
  const shown = [
    ...redactedDiff("f", text, `${text}\nmore`),
    ...redactedDiff("f", null, text),
    ...redactedDiff("f", text, ""),
  ].join("\n");
  expect(shown).not.toContain("s3cret");
  expect(shown).toContain("***");
});

test("redactedDiff() returns a unified diff without control characters", () => {
  const lines = redactedDiff("f", "a\nb\n", "a\n\u001b[31mc\n");
  expect(lines).toEqual([
    "Index: f",
    "--- f",
    "+++ f",
    "@@ -1,2 +1,2 @@",
    " a",
    "-b",
    "+[U+001B][31mc",
  ]);
});

test("redactedDiff() shows gate's own variables", () => {
  const lines = redactedDiff("f", null, '{"env": {"GATE_HOME": "/x", "OTHER": "/y"}}');
  expect(lines.join("\n")).toContain('{"GATE_HOME": "/x", "OTHER": "***"}');
});

test("redactedDiff() is fast on megabytes without blanks", () => {
  const text = `{"a": "${"key-token.-_x".repeat(100_000)}", "b": ${'"env": {'.repeat(1000)}}`;
  expect(redactedDiff("f", text, `${text}\nmore`).at(-1)).toBe("+more");
});

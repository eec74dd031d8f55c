import { expect, test } from "vitest";
import { fewerMasked, maskedNames } from "../../../server/shown/masked_names.ts";

test.each([
  [[], "ls", []],
  [[".env"], "ls", [".env"]],
  [[".env", "*.pem", "~"], null, [".env", "and 2 more"]],
  [[".env", "*.pem", "~"], "cat .env || true", [".env", "and 2 more"]],
  [[".env", "id_rsa", "~"], "cat id_rsa ~/.x", ["id_rsa", "~", "and 1 more"]],
  [[".env", "*.pem", "and 12 more"], "ls", [".env", "and 13 more"]],
])("of %j an answer to %j lists %j", (masked, command, listed) => {
  expect(fewerMasked(masked, command)).toEqual(listed);
});

test("a count is no name", () => {
  expect(maskedNames([".env", "and 12 more"])).toEqual({ names: [".env"], more: 12 });
});

import { randomBytes } from "node:crypto";
import type { Exec } from "../schema.ts";

/** Makes a value that no round of this run, and no other run against the target, has had. */
export function createUniq(): () => string {
  const run = randomBytes(5).toString("hex");
  let n = 0;
  return () => `${run}${String(++n).padStart(4, "0")}`;
}

/** True where each round asks for something else, so that one may follow another. */
export function isUniq({ path = "", headers = {}, body = "" }: Exec): boolean {
  return [path, body, ...Object.entries(headers).flat()].some((text) => text.includes("{{uniq}}"));
}

/** The text with `{{uniq}}` filled in. */
export function fillUniq(text: string, value: string): string {
  return text.replaceAll("{{uniq}}", value);
}

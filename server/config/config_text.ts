import type { z } from "zod";
import { sha256 } from "../db/chain.ts";
import { compareConfigs, type ConfigValue, onlyTightens } from "./compare.ts";
import { parseConfig } from "./load.ts";
import { GlobalConfig, ProjectConfig } from "./schema.ts";
import type { Version } from "./store.ts";

/** The project id under which the machine's config is kept. */
export const MACHINE = "";

/** The name of a project's config. */
export const PROJECT_FILE = "gate.config.json";

/** The SHA-256 of a config's text; "" for an empty text. */
export function hashOf(text: string): string {
  return text === "" ? "" : sha256(text);
}

/** Whether a version lets nothing happen that the other one holds or blocks. */
export function tightensOnly(project_id: string, before: Version, after: Version): boolean {
  const [old, now] = [valueOf(project_id, before.text), valueOf(project_id, after.text)];
  return old !== null && now !== null && onlyTightens(compareConfigs(old, now, [ANY_DEFAULT]));
}

/** Another config may deny by default, and then a rule that asks weakens that. */
export const ANY_DEFAULT = { defaultEffect: "deny" } as const;

/** The config in a text; null when the text is not known or invalid. */
export function valueOf(project_id: string, text: string | null): ConfigValue | null {
  if (text === null) return null;
  if (text === "") return {};
  const schema: z.ZodType<ConfigValue> = project_id === MACHINE ? GlobalConfig : ProjectConfig;
  return parseConfig("", text, schema).value;
}

/** The entity tag of a config's text; that of no text is the same for every missing file. */
export function etagOf(text: string): string {
  return `"${hashOf(text).slice(0, 32) || "none"}"`;
}

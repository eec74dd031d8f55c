import type { Cause, RiskFacts } from "./facts.ts";
import { secrecyOf } from "./paths.ts";
import { effectOfSql } from "./sql.ts";
import { namesProduction, verbOf } from "./verbs.ts";

const MAX_TEXTS = 50;
const MAX_LENGTH = 20_000;
const GRAVE =
  /^(merge|deploy|publish|release|ship|promote|pay|charge|refund|transfer|grant|invite|approve|migrate|rollback|restore)$/;
const CONVERSATION = /^(todo|task|plan|think|memory|ask_?user|notebook_?read)/i;
const ASKS_WEB = /^(web_?(fetch|search)|fetch|search|browse\w*|open_?url)$/i;

/** The causes of risk in a tool of another program, as far as its name and its input tell. */
export function foreignCauses({ tool, input }: RiskFacts): Cause[] {
  const own = tool.split("__").at(-1) ?? tool;
  if (ASKS_WEB.test(own)) return [{ name: "network", why: `${tool} reads from the network` }];
  if (CONVERSATION.test(own) && !tool.includes("__")) return [];
  const words = own.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z0-9]+/);
  const verb = verbOf(words);
  const texts = textsOf(input);
  const production = namesProduction([...words, ...texts.filter((text) => text.length < 200)]);
  const causes: Cause[] = [];
  const sql = texts.map(effectOfSql);
  const isQuery = /sql|query|execute|statement|mongo|postgres|mysql|redis|database|db/i.test(tool);
  if (isQuery && sql.includes("destroys")) {
    causes.push({ name: "database_destroy", why: `${tool} deletes data` });
  } else if (isQuery && sql.includes("changes")) {
    causes.push({ name: "database_change", why: `${tool} changes data` });
  } else if (isQuery && /^(query|execute|run)$/.test(verb?.verb ?? "") && sql.length > 0) {
    return [];
  }
  const secret = texts.find((text) =>
    text.length < 400 && !/\s/.test(text) && secrecyOf(text) !== null
  );
  if (secret !== undefined) {
    causes.push({ name: "secret_read", why: `${tool} is given "${secret}", which holds secrets` });
  }
  if (verb?.kind === "destroys") {
    causes.push({ name: "cloud_destroy", why: `${tool} deletes something` });
  } else if (verb?.kind === "changes" && GRAVE.test(verb.verb)) {
    causes.push({ name: "cloud_change", why: `${tool} changes something that others use` });
  } else if (verb?.kind === "changes") {
    causes.push({ name: "foreign_change", why: `${tool} changes something beyond gate's sight` });
  }
  if (production !== null && verb !== null && verb.kind !== "reads") {
    causes.push({ name: "production", why: `${tool} works on "${production}"` });
  }
  return causes;
}

/** The texts in an input, also those deeper in it. */
function textsOf(input: unknown, found: string[] = []): string[] {
  if (found.length >= MAX_TEXTS) return found;
  if (typeof input === "string") found.push(input.slice(0, MAX_LENGTH));
  else if (typeof input === "object" && input !== null) {
    for (const value of Object.values(input)) textsOf(value, found);
  }
  return found;
}

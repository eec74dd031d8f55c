import type { Policies } from "../../server/policy/schema.ts";
import { policyTemplate } from "../../server/policy/templates.ts";
import { editConfig, formatConfig, readConfig, type Wanted } from "../config_file.ts";
import type { Answers } from "./answers.ts";

/** The change of `gate init` to a config file. */
export interface Plan {
  before: string | null;
  after: string;
}

const CONFIG_VERSION = "2";

/** Plans the config file for these answers. The same answers again change nothing. */
export function planConfig(before: string | null, file: string, answers: Answers): Plan {
  const current = before === null ? {} : readConfig(before, file);
  const wanted: Wanted[] = [];
  const want = (path: Wanted["path"], value: unknown, is: unknown) => {
    if (JSON.stringify(value) !== JSON.stringify(is)) wanted.push({ path, value });
  };
  want(["version"], current.version ?? CONFIG_VERSION, current.version);
  want(["id"], answers.id, current.id);
  if (answers.extendGlobal) want(["extends"], "global", current.extends);
  if (answers.platforms.length > 0) {
    const known = Array.isArray(current.platforms) ? current.platforms as string[] : [];
    want(["platforms"], [...new Set([...known, ...answers.platforms])], current.platforms);
  }
  if (answers.template) {
    const known = (current.policies ?? {}) as Policies;
    for (const [key, value] of Object.entries(policyTemplate(answers.template))) {
      want(["policies", key], merge(known[key], value), known[key]);
    }
  }
  if (before === null) return { before, after: `${formatConfig(build(wanted))}\n` };
  return { before, after: `${editConfig(before, wanted).trimEnd()}\n` };
}

function build(wanted: Wanted[]): unknown {
  return readConfig(editConfig("{}", wanted), "");
}

/** Lists keep their entries and get those of the template; the template replaces other values. */
function merge(known: unknown, template: unknown): unknown {
  if (!Array.isArray(known) || !Array.isArray(template)) return template;
  const patterns = new Set(known.map(patternOf));
  return [...known, ...template.filter((entry) => !patterns.has(patternOf(entry)))];
}

function patternOf(entry: unknown): unknown {
  return typeof entry === "object" && entry !== null
    ? (entry as { pattern: unknown }).pattern
    : entry;
}

import { type Below, EVERYTHING, nameOf } from "./below.ts";
import { evaluateBelow } from "./below_rules.ts";
import { byDefault } from "./finding.ts";
import { DEEP, show } from "./holes.ts";
import { evaluateRead } from "./path_rules.ts";
import type { Decide } from "./policy.ts";
import type { Searched, SearchRequest } from "./request.ts";

/** Evaluates a search by a host's own tool by the files below its folder, as for a program. */
export const decideSearch: Decide<SearchRequest> = (policy, { folder, below }, around) => {
  const path = `${folder.lexical.replace(/\/$/, "")}/${DEEP}`;
  const effect = { op: "read" as const, path, text: "", below: belowOf(below) };
  const found = evaluateBelow(policy, effect, around) ??
    evaluateRead(policy, around.resolve(path), around);
  const findings = found.map(({ alternative, ...one }) => ({
    ...one,
    alternative: alternative?.replace(/^Add (.*)$/, ADVICE) ?? null,
  }));
  if (findings.length > 0) return { findings };
  return { findings: [byDefault("allow", `searching ${show(folder.lexical)}`)] };
};

const ADVICE = "Add $1 to its glob, or search in a folder without such a file";

function belowOf({ only, skips, obeys_ignores, follows_links, is_vague }: Searched): Below {
  const wanted = only.map((glob) => nameOf(glob, "file"));
  const left_out = skips.map((glob) => nameOf(glob));
  return {
    ...EVERYTHING,
    only: wanted.includes(null) ? [] : wanted.filter((one) => one !== null),
    skips: left_out.filter((one) => one !== null),
    tracked: obeys_ignores,
    links: follows_links,
    vague: is_vague || wanted.includes(null) || left_out.includes(null),
    leave_out: { file: "!{name}", folder: "!{name}" },
  };
}

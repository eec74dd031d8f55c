import { basename } from "node:path";
import type { RiskFactor } from "../../policy/schema.ts";
import type { Cause } from "../facts.ts";
import { type Call, type Context, has, productionOf, type Row, triesOnly } from "./call.ts";

/** Programs that run the tasks of a project. */
export const RUNNERS: readonly Row[] = [
  [
    /^(npm|pnpm|yarn|bun|deno|make|gmake|just|task|rake|gradle|gradlew|mvn|ant|invoke|nox|tox|nx|turbo|lerna|composer|mage|earthly|bazel|pants|poe|hatch|pdm|mix|sbt|cargo-make|doit|please|dagger)$/,
    taskCauses,
  ],
];

const TASKS: [RegExp, RiskFactor, string][] = [
  [
    /(^|[:_-])(deploy|release|publish|rollout|ship|promote|upload)([:_-]|$)/,
    "deploys",
    "deploys or publishes",
  ],
  [
    /(^|[:_-])(destroy|nuke|wipe|teardown|drop|purge)([:_-]|$)|(db|database)[:_-](reset|drop|clean)|reset[:_-](db|database)/,
    "loses_work",
    "destroys something",
  ],
  [
    /(^|[:_-])(migrate|migrations?)([:_-]|$)|(db|database)[:_-](seed|setup|migrate|push)/,
    "database_change",
    "changes a database",
  ],
  [/(^|[:_-])(clean|clobber|distclean)([:_-]|$)/, "deletes", "deletes what was built"],
];

function taskCauses(call: Call, context: Context): Cause[] {
  if (triesOnly(call) || has(call, /^-n$/)) return [];
  const { program, words } = call;
  const skipped = new Set(["run", "run-script", "exec", "x", "task", "--"]);
  const names = words.filter((word) => !skipped.has(word));
  const name = names[0];
  if (name === undefined) return [];
  const isManager = /^(npm|pnpm|yarn|bun|deno)$/.test(program);
  if (isManager && !words.some((word) => skipped.has(word)) && program !== "yarn") return [];
  const production = productionOf(call, context);
  const found = TASKS.filter(([pattern]) => names.some((one) => pattern.test(one)));
  const causes = found.map(([, factor, what]): Cause => ({
    name: factor,
    why: `the task "${name}" ${what}`,
  }));
  const acts = found.some(([, factor]) => factor !== "deletes");
  if (production !== null && acts) {
    causes.push({ name: "production", why: `the task "${name}" works on "${production}"` });
  }
  return causes;
}

/** A script that is called after what it does: `deploy.sh`, `scripts/drop_db.py`. */
export function taskOfScript(script: string, call: Call, context: Context): Cause[] {
  const name = basename(script).replace(/\.\w+$/, "");
  const found = TASKS.filter(([pattern, factor]) => factor !== "deletes" && pattern.test(name));
  const causes = found.map(([, factor, what]): Cause => ({
    name: factor,
    why: `"${script}" ${what}`,
  }));
  const production = productionOf(call, context);
  if (production !== null && (found.length > 0 || !/^(node|deno|bun)$/.test(call.program))) {
    causes.push({
      name: found.length > 0 ? "production" : "production_named",
      why: `"${script}" is about "${production}"`,
    });
  }
  return causes;
}

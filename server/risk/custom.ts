import { basename } from "node:path";
import type { RiskSettings } from "../policy/risk_weights.ts";
import type { Cause, RiskFacts } from "./facts.ts";

const KEPT = 500;
const patterns = new Map<string, RegExp>();

/** The classes of paths and commands that a config adds. */
export function customCauses(
  { changes, accesses, analysis, root }: RiskFacts,
  { classes }: RiskSettings,
): Cause[] {
  if (classes.length === 0) return [];
  const shown = (path: string) => path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
  const paths = [
    ...changes.map(({ path }) => shown(path)),
    ...accesses.filter(({ access }) => access !== "read").map(({ path }) => shown(path)),
    ...analysis?.writes ?? [],
    ...analysis?.deletes ?? [],
  ];
  return classes.flatMap(({ name, paths: globs = [], commands = [] }) => {
    const path = paths.find((one) => globs.some((glob) => patternOf(glob).test(one)));
    const argv = analysis?.commands.find((one) => commands.some((words) => runs(one, words)));
    const found = path ?? argv?.join(" ").slice(0, 200);
    if (found === undefined) return [];
    return [{ name: name as Cause["name"], why: `"${found}" is in the config's class "${name}"` }];
  });
}

/** Whether the program is the first word, and the other words follow in this order. */
function runs(argv: readonly string[], words: string): boolean {
  const [program = "", ...rest] = words.split(/\s+/);
  if (
    !patternOf(program).test(argv[0] ?? "") && !patternOf(program).test(basename(argv[0] ?? ""))
  ) {
    return false;
  }
  let at = 1;
  for (const word of rest) {
    const found = argv.findIndex((one, index) => index >= at && patternOf(word).test(one));
    if (found === -1) return false;
    at = found + 1;
  }
  return true;
}

/** A glob in which `**` stands for any folders, `*` and `?` for parts of one name. */
function patternOf(glob: string): RegExp {
  const known = patterns.get(glob);
  if (known) return known;
  const source = glob.replace(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (one) => {
    if (one === "**/") return "(?:[^/]+/)*";
    if (one === "**") return ".*";
    if (one === "*") return "[^/]*";
    return one === "?" ? "[^/]" : `\\${one}`;
  });
  const prefix = glob.includes("/") ? "" : "(?:.*/)?";
  const made = new RegExp(`^${prefix}${source}$`);
  if (patterns.size >= KEPT) patterns.clear();
  patterns.set(glob, made);
  return made;
}

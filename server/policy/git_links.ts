import { builtin, type Finding, GIT_LINK } from "./finding.ts";
import { isStatic } from "./holes.ts";
import { absolutePath } from "./interpret/state.ts";
import type { Unit } from "./interpret/unit.ts";
import { evaluateRead } from "./path_rules.ts";
import type { CompiledPolicy } from "./policy.ts";
import { baseName } from "./programs/grammar.ts";
import type { Surroundings } from "./request.ts";
import { type GitLink, isWithin } from "./tracked.ts";

/** The findings about git's links, and the places that they lead to. */
export interface LinkFindings {
  findings: Finding[];
  targets: string[];
}

const MOST_LOOKS = 400;

/**
 * The findings about the links in the repositories in which the commands may run git. Git writes its
 * messages and logs, and reads its references and objects, through each of them.
 */
export function evaluateGitLinks(
  policy: CompiledPolicy,
  units: readonly Unit[],
  around: Surroundings,
): LinkFindings {
  const { git_links, is_guest, roots } = around;
  const calls = units.filter(({ argv: [program = ""] }) => /^git(-|$)/.test(baseName(program)));
  if (!git_links || calls.length === 0) return { findings: [], targets: [] };
  const found = new Map<string, Finding[]>();
  const folders = foldersOf(calls, units, around);
  const looks = folders?.map(git_links) ?? [null];
  for (const look of looks) {
    if (look === null) {
      found.set("", [asked("gate cannot tell where the links in git's own folder lead")]);
      continue;
    }
    for (const link of look.links) {
      found.set(`link ${link.path}`, [...reading(link), asked(followed(link))]);
    }
    for (const link of look.objects) {
      const isOfGuest = is_guest === true && roots.some((root) => isWithin(link.target, root));
      const more = isOfGuest ? [asked(followed(link))] : [];
      found.set(`objects ${link.target}`, [...reading(link), ...more]);
    }
  }
  const targets = looks.flatMap((look) =>
    look === null ? [] : [...look.links, ...look.objects].map(({ target }) => target)
  );
  return { findings: [...found.values()].flat(), targets: [...new Set(targets)] };

  function reading({ path, target }: GitLink): Finding[] {
    return evaluateRead(policy, { lexical: target, real: target }, around).map((finding) => ({
      ...finding,
      reason: `${finding.reason} (${JSON.stringify(path)} leads git there)`,
      is_walled: true,
    }));
  }
}

/**
 * The folders in which git may work: those of the commands, and each one that a word of any command
 * names, as in `git -C sub` and `--git-dir=sub`. Null for too many.
 */
function foldersOf(
  calls: readonly Unit[],
  units: readonly Unit[],
  { user_home }: Surroundings,
): string[] | null {
  const from = [...new Set(calls.flatMap(({ folders }) => folders))].filter(isStatic);
  const words = units.flatMap(({ argv }) => argv.slice(1)).filter(isStatic).flatMap((word) => {
    const at = word.indexOf("=");
    return at < 0 ? [word] : [word, word.slice(at + 1)];
  });
  const named = [...new Set(words)].filter((word) => word !== "" && !word.includes("\n"))
    .map((word) => word.replace(/^~(?=\/|$)/, user_home));
  if (named.length * from.length > MOST_LOOKS) return null;
  return [
    ...new Set([...from, ...from.flatMap((at) => named.map((one) => absolutePath(one, at)))]),
  ];
}

function asked(reason: string): Finding {
  return builtin("ask", GIT_LINK, "*", reason);
}

function followed({ path, target }: GitLink): string {
  return `git follows ${JSON.stringify(path)} to ${JSON.stringify(target)}`;
}

/** The subject of each list of built-in rules, as a person reads it. */
const SUBJECTS: Record<string, string> = {
  "self-protection": "gate’s own data, daemon and decisions",
  "never-automatic": "files that may run code later",
  "outside-root": "files outside the project",
  "other-project": "files of another project",
  "other-name": "files with several names",
  "malformed-path": "paths that deceive a reader",
  "git-link": "links in git’s own folder",
  unresolved: "commands whose effect the text does not show",
  unproved: "commands that gate cannot prove harmless",
  sandbox: "commands in the sandbox",
  evaluation: "rules that gate cannot evaluate",
};

/** The subject of a list of built-in rules in plain words; its name if there are none. */
export function builtinSubject(list: string): string {
  return Object.hasOwn(SUBJECTS, list) ? SUBJECTS[list]! : list;
}

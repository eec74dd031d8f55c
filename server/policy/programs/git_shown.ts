import { EVERYTHING } from "../below.ts";
import { BRACKET, DEEP, isWild, QUESTION, STAR } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";
import { isExclusion, type Place, placeOf, type Tracked, WHOLE } from "../tracked.ts";
import { GIT_OPTIONS, LOG_OPTIONS } from "./git_options.ts";
import {
  has,
  needsValue,
  outside,
  type Parsed,
  readOptions,
  type Spec,
  spec,
  valuesOf,
} from "./options.ts";
import { touchBelow } from "./recursion.ts";

/** A git command with its options and operands before `--`, and the pathspecs after it. */
interface Given {
  name: string;
  args: readonly string[];
  parsed: Parsed;
  after: readonly string[];
  has_dashes: boolean;
  /** Why gate cannot tell what the options do; null if it can. */
  unclear: string | null;
}

/**
 * Records the tracked files whose content a git command shows, copies or sends. Only a command that
 * is known to show none records nothing. `plain` tells that no option of git itself and no setting
 * changes what the command shows.
 */
export function touchShown(
  name: string,
  args: readonly string[],
  plain: boolean,
  call: Call,
  run: Runner,
): void {
  const given = readGiven(name, args, plain);
  for (const tracked of shownBy(given)) touchTracked(tracked, call, run);
  if (name === "clone") touchSource(given, call, run);
  if (isOnDisk(given)) searchDisk(given, call, run);
}

function touchTracked(tracked: Tracked, call: Call, run: Runner): void {
  run.touch("read", `./${DEEP}`, call, { implied: true, on_disk: true, tracked });
}

function readGiven(name: string, args: readonly string[], plain: boolean): Given {
  const dashes = args.indexOf("--");
  const before = dashes < 0 ? args : args.slice(0, dashes);
  const known = optionsOf(name);
  const parsed = readOptions(before, known);
  return {
    name,
    args,
    parsed,
    after: dashes < 0 ? [] : args.slice(dashes + 1),
    has_dashes: dashes >= 0,
    unclear: plain ? unclear(before, parsed, known) : "the options of git itself",
  };
}

const MORE_OPTIONS: Record<string, string> = {
  "diff-tree": "-r --root --stdin --no-commit-id -v -a",
  "diff-index": "-r -v -a",
  "diff-files": "-r -v -a",
  "format-patch":
    "-o,--output-directory= --stdout -k,--keep-subject -N,--no-numbered --start-number= --numbered-files -s,--signoff " +
    "--cover-letter --no-cover-letter -v,--reroll-count= --subject-prefix= --rfc --zero-commit --base= --suffix= --no-stat",
  "range-diff": "--creation-factor= --no-dual-color --left-only --right-only",
  archive: "-v,--verbose -o,--output= --prefix= --format= --mtime= -0 -1 -9",
};

const LOG_SPEC = spec(LOG_OPTIONS);
const CLONE = spec(
  "-u,--upload-pack= -b,--branch= -o,--origin= -c,--config= -j,--jobs= --depth= --shallow-since= --shallow-exclude= " +
    "--reference= --reference-if-able= --template= --separate-git-dir= --filter= --server-option= --bundle-uri= --revision=",
);
const SPECS = new Map([
  ...Object.entries(MORE_OPTIONS).map(([name, more]) =>
    [name, spec(`${LOG_OPTIONS} ${more}`)] as const
  ),
  ["clone", CLONE],
]);

function optionsOf(name: string): Spec {
  return SPECS.get(name) ?? (Object.hasOwn(GIT_OPTIONS, name) ? GIT_OPTIONS[name]! : LOG_SPEC);
}

/** The first word that may do something unknown; null if there is none. */
function unclear(before: readonly string[], parsed: Parsed, known: Spec): string | null {
  const word = before.find((one) => isWild(one) || one.includes(DEEP) || STARTS_OPEN.test(one));
  if (word !== undefined) return "a word of unknown content";
  const [option] = outside(parsed, known);
  if (option !== undefined) return `"-${option.length > 1 ? "-" : ""}${option}"`;
  // Such an option takes the `--` as its value.
  const open = parsed.options.find(({ name, value }) => value === null && needsValue(name, known));
  return open ? `"${open.name}" without a value` : null;
}

/** A glob may find a file whose name is an option. */
const STARTS_OPEN = new RegExp(`^[${STAR}${QUESTION}${BRACKET}]`);

/** Commands that show no content, whatever their options are; others have their own line below. */
const SILENT = new Set(
  ("apply check-attr check-ignore check-mailmap check-ref-format cherry cherry-pick clean clone column commit-graph commit-tree " +
    "count-objects credential credential-cache credential-store describe diagnose bugreport fetch fetch-pack fmt-merge-msg " +
    "for-each-repo fsmonitor--daemon gc get-tar-commit-id hash-object help hook index-pack init init-db " +
    "interpret-trailers last-modified ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file " +
    "mergetool mktag multi-pack-index mv name-rev pack-redundant pack-refs patch-id prune prune-packed pull push quiltimport " +
    "receive-pack refs remote repack repo rev-list rev-parse revert rm send-pack shortlog show-branch show-index show-ref " +
    "sparse-checkout stripspace survey switch symbolic-ref unpack-objects update-server-info var verify-commit verify-pack " +
    "verify-tag version web--browse write-tree backfill lfs flow")
    .split(" "),
);

/** Commands that show or copy content only with such an option, word or value. */
const ONLY_WITH: Record<string, { option?: RegExp; word?: RegExp }> = {
  add: { option: /^(p|pa.*|i|inter.*|e|ed.*)$/ },
  stage: { option: /^(p|pa.*|i|inter.*|e|ed.*)$/ },
  am: { option: /^sh/ },
  bisect: { word: /^v/ },
  branch: { word: /%\(\*?raw/ },
  checkout: { option: /^(p|pa.*)$/ },
  commit: { option: /^(v.*|p|pa.*|inter.*)$/ },
  config: { option: /^bl/ },
  "for-each-ref": { word: /%\(\*?raw/ },
  fsck: { option: /^lo/ },
  notes: { option: /^(c|C|find-copies|re.*)$/, word: /^copy$/ },
  rebase: { option: /^sh/ },
  rerere: { word: /^diff$/ },
  reset: { option: /^(p|pa.*)$/ },
  restore: { option: /^(p|pa.*)$/ },
  status: { option: /^v/ },
  submodule: { word: /^(foreach|summary|add)$/ },
  // A tag of a file's content makes `git show` print it under an innocent name.
  tag: { word: /%\(\*?raw|^[0-9a-f]{4,}$/i },
  "update-index": { option: /^(cach|index-|st)/ },
  "update-ref": { option: /^st/, word: /^[0-9a-f]{4,}$/i },
  worktree: { word: /^add$/ },
};

function isShowing({ option, word }: typeof ONLY_WITH[string], { parsed, after }: Given): boolean {
  const words = [...parsed.operands, ...after, ...parsed.options.map(({ value }) => value ?? "")];
  return (option !== undefined && parsed.options.some(({ name }) => option.test(name))) ||
    (word !== undefined && words.some((one) => word.test(one)));
}

/** The files that a command shows; empty for nothing. */
function shownBy(given: Given): Tracked[] {
  const { name, parsed } = given;
  const [verb] = parsed.operands;
  if (Object.hasOwn(ONLY_WITH, name)) {
    return isShowing(ONLY_WITH[name]!, given) ? [whole(given)] : [];
  }
  if (name === "grep") return searched(given);
  if (SILENT.has(name)) return [];
  if (name === "blame" || name === "annotate") return blamed(given);
  if (name === "cat-file") return printed(given);
  if (name === "stash") return stashed(given);
  if (name === "reflog" && /^(expire|delete|exists|list|drop)$/.test(verb ?? "")) return [];
  if (has(parsed, "no-index")) return [];
  if (given.unclear === null && isSilent(given)) return [];
  return narrowed(given);
}

/** Commands that show a diff only if an option says so. */
const QUIET_BY_DEFAULT = /^(log|whatchanged|reflog|diff-tree|diff-index|diff-files)$/;
const WITH_CONTENT = (
  "patch unified function-context patch-with-raw patch-with-stat check binary c cc m diff-merges remerge-diff L word-diff " +
  "word-diff-regex color-words submodule combined-all-paths"
).split(" ");
const SUMMARIES = (
  "no-patch raw numstat shortstat dirstat dirstat-by-file summary name-only name-status stat compact-summary"
).split(" ");

function isSilent({ name, parsed }: Given): boolean {
  if (has(parsed, ...WITH_CONTENT)) return false;
  if (QUIET_BY_DEFAULT.test(name)) return true;
  if (name === "diff") return has(parsed, ...SUMMARIES, "quiet");
  // A blob is shown as it is.
  return name === "show" && has(parsed, ...SUMMARIES) && parsed.operands.every(isCommit);
}

/** The part of the repository that the pathspecs and the objects of a command leave. */
function narrowed(given: Given): Tracked[] {
  const { name, parsed, unclear, has_dashes } = given;
  const isTree = name === "archive";
  const revisions = isTree ? parsed.operands.slice(0, 1) : parsed.operands;
  const inTrees = revisions.map(placeInTree).filter((one) => one !== null);
  const reach = name === "show" ? "exact" as const : "below" as const;
  const named: Tracked[] = inTrees.length > 0
    ? [{ ...WHOLE, only: inTrees.map((one) => ({ ...one, reach })), advice: NAME_IT }]
    : [];
  const isOnly = named.length > 0 && inTrees.length === revisions.length && !LOGS.test(name);
  if (isOnly) return named;
  const others = revisions.filter((one) => placeInTree(one) === null);
  const objects = LOGS.test(name) ? [] : others.filter((one) => !isCommit(one));
  const all = { ...whole(given), advice: adviceFor(given, objects) };
  if (unclear !== null || objects.length > 0 || has(parsed, "follow", "L", "relative")) {
    return [...named, all];
  }
  if (!isTree && !has_dashes) return [...named, all];
  const { only, skips } = placesOf(
    isTree ? [...parsed.operands.slice(1), ...given.after] : given.after,
  );
  return [...named, { ...all, only, skips }];
}

/** Commands that walk commits, so another object shows nothing. */
const LOGS = /^(log|whatchanged|format-patch|reflog|range-diff)$/;
const NAME_IT = "Name the file to show, as in git show HEAD:path";

function whole(given: Given): Tracked {
  const { name, args } = given;
  const modules = name === "submodule" || args.some((arg) => /^--(recurse-s|sub)/.test(arg));
  const unnamed = name === "stash" &&
    args.some((arg) => /^--(include-u|only-u|a)|^-[a-z]*[ua]/.test(arg));
  return { ...WHOLE, modules, unnamed, history: !isOfIndex(given), advice: NAME_IT };
}

/** Whether a command shows files of the index and the disk, and none of a commit. */
function isOfIndex({ name, parsed, unclear }: Given): boolean {
  if (unclear !== null) return false;
  if (name === "diff-files" || name === "checkout-index") return true;
  if (name === "grep") return parsed.operands.length <= (has(parsed, "e", "f") ? 0 : 1);
  return name === "diff" && parsed.operands.length === 0 &&
    !has(parsed, "cached", "staged", "merge-base");
}

function adviceFor(
  { name, unclear, after, has_dashes }: Given,
  objects: readonly string[],
): string {
  const advice: string[] = [];
  if (unclear !== null) advice.push(`leave out ${unclear}`);
  const [object] = objects.filter((one) => !isWild(one));
  if (object !== undefined) advice.push(`write ${object}^{commit} for the commit ${object}`);
  const open = after.find((one) =>
    !isExclusion(one) && !isWild(one) && placeOf(asGlob(one)) === null
  );
  if (open !== undefined) advice.push(`write a plain path for ${open}`);
  const all = has_dashes ? "" : name === "archive" ? "{all} " : "-- {all} ";
  advice.push(`add ${all}{excludes}`);
  const text = advice.join(", ");
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}

/** The places that pathspecs name; `only` is empty if one of them may name any file. */
function placesOf(pathspecs: readonly string[]): Pick<Tracked, "only" | "skips"> {
  const only: Place[] = [];
  const skips: Place[] = [];
  let isOpen = false;
  for (const written of pathspecs) {
    const place = /[\uFDD0-\uFDD3]/.test(written) ? null : placeOf(asGlob(written));
    if (place?.excludes) skips.push(place);
    else if (place) only.push(place);
    // An exclusion that gate cannot read leaves out less than it says.
    else if (!isExclusion(written)) isOpen = true;
  }
  return { only: isOpen ? [] : only, skips };
}

function asGlob(word: string): string {
  return word.replaceAll(STAR, "*").replaceAll(QUESTION, "?").replaceAll(BRACKET, "[");
}

/** The path in `<revision>:<path>`, `:<path>` or `:<stage>:<path>`; null for other objects. */
function placeInTree(object: string): Place | null {
  if (/^-|^:[^\w.]/.test(object)) return null;
  const found = /^((?:[^:{]|\{[^}]*\})+|:[0-3])?:(.*)$/s.exec(object);
  if (!found) return null;
  const path = found[2]!;
  return { path, top: !/^\.\.?(\/|$)/.test(path), reach: "below" };
}

/** Whether a revision, or each end of a range, is a commit or a tree of one. */
function isCommit(revision: string): boolean {
  return revision.replace(/^\^/, "").split(/\.{2,3}/).every((end) => {
    if (end === "") return true;
    const [, base = "", suffix = ""] =
      /^([^~^@{]*|@)((?:[~^]\d*|\^\{(?:commit|tree)\}|@\{[^}]*\}|\^[!@-]\d*)*)$/
        .exec(end) ?? [];
    if (base === "" || !/^[\w./@+-]+$/.test(base)) return false;
    return !/(^|-g)[0-9a-f]{4,}$/i.test(base) ||
      /^([~^]\d|[~^]$|[~^][~^]|\^\{commit\})/.test(suffix);
  });
}

/** `git grep`: the files below the current folder, unless an operand names something else. */
function searched(given: Given): Tracked[] {
  const { parsed, unclear, after, has_dashes } = given;
  const names = ["files-with-matches", "name-only", "files-without-match", "count", "quiet"];
  if (unclear === null && has(parsed, ...names)) return [];
  const rest = has(parsed, "e", "f") ? parsed.operands : parsed.operands.slice(1);
  const inTrees = rest.map(placeInTree).filter((one) => one !== null);
  const named = inTrees.length > 0 ? [{ ...WHOLE, only: inTrees, advice: NAME_IT }] : [];
  const all = { ...whole(given), advice: adviceFor(given, []) };
  if (unclear !== null || (!has_dashes && rest.length > 0)) return [...named, all];
  if (!rest.every((one) => isCommit(one) || placeInTree(one))) return [...named, all];
  const { only, skips } = placesOf(after);
  const isOpen = only.length === 0 && after.some((one) => !isExclusion(one));
  const here: Place = { path: ".", top: false, reach: "below" };
  return [...named, { ...all, only: isOpen || only.length > 0 ? only : [here], skips }];
}

/** `git blame`: any of its words may be the file. */
function blamed({ parsed, after }: Given): Tracked[] {
  const files = [
    ...parsed.operands,
    ...after,
    ...valuesOf(parsed, "S", "contents", "ignore-revs-file"),
  ];
  const only = files.map((path) => ({ path, top: false, reach: "exact" as const }));
  return only.length > 0 ? [{ ...WHOLE, only, advice: NAME_IT }] : [];
}

/** `git cat-file`: one object, or those that its input names. */
function printed(given: Given): Tracked[] {
  const { args, parsed, unclear } = given;
  const [first = "", second] = parsed.operands;
  if (args.some((arg) => /^--ba|^--u|^--bu/.test(arg)) && !isOnlyChecking(args)) {
    return [{ ...WHOLE, unnamed: true, advice: NAME_IT }];
  }
  if (unclear === null && (has(parsed, "t", "s", "e") || isOnlyChecking(args))) return [];
  const object = second ?? first;
  const place = placeInTree(object);
  if (place) return [{ ...WHOLE, only: [{ ...place, reach: "exact" }], advice: NAME_IT }];
  // These types of objects hold names and messages.
  if (second !== undefined && /^(commit|tree|tag)$/.test(first)) return [];
  return isCommit(object) && object !== "" && unclear === null ? [] : [whole(given)];
}

function isOnlyChecking(args: readonly string[]): boolean {
  return args.some((arg) => /^--batch-check(=|$)/.test(arg)) &&
    args.every((arg) => /^--batch-(check(=|$)|all-objects$)|^[^-]/.test(arg));
}

/** `git stash`: `show` and `list` with a diff. */
function stashed(given: Given): Tracked[] {
  const { args, parsed } = given;
  const [verb = "push"] = parsed.operands;
  if (args.some((arg) => /^-[a-z]*p|^--p/.test(arg)) && verb !== "list") return [whole(given)];
  if (verb === "list") {
    return given.unclear === null && !has(parsed, ...WITH_CONTENT) ? [] : [whole(given)];
  }
  if (verb !== "show") return [];
  const isSummary = given.unclear === null && !has(parsed, ...WITH_CONTENT) &&
    has(parsed, ...SUMMARIES);
  return isSummary ? [] : [whole(given)];
}

/** A local repository that `git clone` copies, with all its files. */
function touchSource({ parsed, after }: Given, call: Call, run: Runner): void {
  const [address] = [...parsed.operands, ...after];
  const path = address?.replace(/^file:\/\/(localhost)?/, "");
  if (path === undefined || isWild(path) || /^[^/]*:/.test(path)) return;
  const shell = call.shell.fork();
  const from = (folder: string) => path.startsWith("/") ? path : `${folder}/${path}`;
  shell.cwd = from(shell.cwd);
  shell.otherFolders = shell.otherFolders.map(from);
  const tracked = { ...WHOLE, advice: "Clone the repository from its address" };
  touchTracked(tracked, { ...call, shell }, run);
}

/** Whether the command reads files of the disk, tracked or not. */
function isOnDisk({ name, args, parsed, unclear }: Given): boolean {
  if (name === "diff") return has(parsed, "no-index");
  return name === "grep" && (unclear !== null || args.some((arg) => /^--(no-i|un)/.test(arg)));
}

function searchDisk({ name, parsed, after }: Given, call: Call, run: Runner): void {
  const words = [...parsed.operands, ...after];
  const given = name === "diff" || has(parsed, "e", "f") ? words : words.slice(1);
  const { skips } = placesOf(given);
  const paths = given.filter((path) => !path.startsWith(":"));
  const below = {
    ...EVERYTHING,
    skips: skips.filter(({ top, path }) => !top && !/(^|\/)\.\.?(\/|$)|\/$/.test(path))
      .map(({ path }) => ({ glob: path, kind: "any" as const, is_path: true })),
    tracked: name === "grep",
    vague: true,
    leave_out: name === "grep" ? { file: "':!{path}'", folder: "':!{path}'" } : null,
  };
  touchBelow(paths.length > 0 ? paths : ["."], below, call, run);
}

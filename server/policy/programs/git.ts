import { ANY, DEEP, isWild, show, TAME } from "../holes.ts";
import type { Call, Handler, Runner } from "../interpret/call.ts";
import { GIT_OPTIONS } from "./git_options.ts";
import { GRAMMARS } from "./grammar.ts";
import { touchWord } from "./operands.ts";
import { touchPatch } from "./patches.ts";
import { isExclusion } from "../tracked.ts";
import { touchOutputs } from "./program.ts";
import { touchShown } from "./git_shown.ts";
import {
  has,
  type Parsed,
  readOptions,
  type Spec,
  spec,
  splitCommand,
  valuesOf,
} from "./options.ts";

/** Git's own commands; any other word may be an alias for any command. */
const COMMANDS = new Set(
  ("add am annotate apply archive backfill bisect blame branch bugreport bundle cat-file check-attr " +
    "check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone " +
    "column commit commit-graph commit-tree config count-objects credential credential-cache credential-store " +
    "daemon describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch " +
    "fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck fsmonitor--daemon gc " +
    "get-tar-commit-id grep gui hash-object help hook http-backend imap-send index-pack init init-db instaweb " +
    "interpret-trailers last-modified lfs log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge " +
    "merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes " +
    "pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push quiltimport range-diff read-tree " +
    "rebase receive-pack reflog refs remote repack replace replay repo request-pull rerere reset restore rev-list " +
    "rev-parse revert rm send-email send-pack shortlog show show-branch show-index show-ref sparse-checkout stage " +
    "stash status stripspace submodule subtree survey svn switch symbolic-ref tag unpack-file unpack-objects " +
    "update-index update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack " +
    "verify-tag version web--browse whatchanged worktree write-tree flow cliff absorb town branchless")
    .split(" "),
);

/** The git command in a program name such as `git-push`; null for others. */
export function dashedCommand(program: string): string | null {
  const name = program.startsWith("git-") ? program.slice(4) : "";
  return COMMANDS.has(name) ? name : null;
}

/** Settings whose value git runs. */
const RUN_KEYS =
  /^(core\.(pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|sequence\.editor|diff\.external|pager\.\w+|gpg(\.\w+)?\.program|gpg\.ssh\.defaultkeycommand|credential(\..*)?\.helper|diff\..*\.(command|textconv)|merge\..*\.driver|filter\..*\.(clean|smudge|process)|(diff|merge|gui)tool\..*\.(cmd|path)|(browser|man)\..*\.(cmd|path)|gc\.recentobjectshook|remote\..*\.vcs|sendemail\.(smtpserver|sendmailcmd|tocmd|cccmd)|remote\..*\.(uploadpack|receivepack|proxy)|interactive\.difffilter|uploadpack\.packobjectshook|trailer\..*\.(command|cmd)|tar\..*\.command|submodule\..*\.update|hook\..*\.command)$/;

/** Settings that name files which git runs, or further settings. */
const FILE_KEYS =
  /^(core\.(hookspath|attributesfile|worktree)|include\.path|includeif\..*\.path|init\.templatedir|protocol\.ext\.allow|protocol\.allow|core\.gitproxy)$/;

/** Settings that decide where git sends and takes commits. */
const REDIRECT_KEYS =
  /^(remote\..*\.(push|mirror|url|pushurl)|url\..*\.(push)?insteadof|http(\..*)?\.(proxy|cookiefile|sslcert|sslkey|curloptresolve)|(bugreport|format)\..*directory|credential\..*file|(blame\.ignorerevs|commit\.templat|mailmap\.fil)\w*|diff\.orderfile|core\.excludesfile|fsck\.skiplist|gpg\.ssh\.allowedsignersfile|trace2\..*)$/;

/** `git`: aliases, settings and options that run programs, and the files that it writes. */
export const runGit: Handler = (argv, call, run) => {
  const { parsed, rest } = splitCommand(argv.slice(1), GRAMMARS.git!.options, 0);
  const inner = inFolder(parsed, call);
  const aliases = new Map<string, string>();
  for (const setting of valuesOf(parsed, "c")) readSetting(setting, aliases, inner, run);
  if (valuesOf(parsed, "exec-path").some((path) => path !== null)) {
    run.doubt("--exec-path changes where git finds its programs", argv.join(" "), call);
  }
  if (has(parsed, "config-env")) {
    run.doubt("--config-env takes a setting from the environment", argv.join(" "), call);
  }
  for (const path of valuesOf(parsed, "git-dir", "work-tree")) {
    if (!/(^|\/)\.git\/?$/.test(path)) {
      run.doubt("git takes its settings or its files from another folder", show(path), call);
    }
  }
  const [name, ...args] = rest;
  if (name === undefined) return ANY;
  const alias = aliases.get(name);
  if (alias !== undefined) return runAlias(alias, args, inner, run);
  if (isWild(name)) {
    run.doubt("the git command that runs is unknown", show(name), call);
    return ANY;
  }
  if (!COMMANDS.has(name)) {
    run.doubt(`"git ${name}" is not a git command: it may be an alias`, name, call);
    return ANY;
  }
  if (inner.stdin !== "" && opensEditor(name, args)) {
    run.doubt("git's editor reads this input, and may run commands in it", call.text, call);
  }
  if (has(parsed, "C") && changesRepository(name, args)) {
    run.touch("write", ".", inner, { guessed: true });
  }
  runOptions(name, args, inner, run);
  touchShown(name, args, isPlain(parsed), inRepository(parsed, inner), run);
  return printed(name, args);
};

/** Whether the command may change the repository that `-C` names. */
function changesRepository(name: string, args: readonly string[]): boolean {
  if (/^(add|commit)$/.test(name) || !Object.hasOwn(GIT_OPTIONS, name)) return true;
  if (!/^(branch|reflog|remote|stash|symbolic-ref|tag)$/.test(name)) return false;
  const verb = args.find((arg) => !arg.startsWith("-"));
  const shows = verb === undefined ? name !== "stash" : /^(list|show|get-url|HEAD)$/.test(verb);
  return !shows && !args.some((arg) => /^(-l|--(list|contains|merged|points-at))/.test(arg));
}

/** Whether the command may start the person's editor, on a message or on a part of a change. */
function opensEditor(name: string, args: readonly string[]): boolean {
  const parsed = readOptions(args, EDITING);
  if (has(parsed, "edit", "interactive", "patch", "edit-description")) {
    return /^(add|stage|commit|checkout|restore|reset|stash|rebase|tag|merge|revert|cherry-pick|notes|branch|config)$/
      .test(name);
  }
  if (name !== "commit") return false;
  const isReworded = valuesOf(parsed, "fixup").some((of) => /^(amend|reword):/.test(of));
  return isReworded || has(parsed, "squash", "reedit-message") ||
    !has(parsed, "message", "file", "reuse-message", "fixup", "no-edit", "dry-run");
}

const EDITING = spec(
  "-e,--edit -i,--interactive -p,--patch --edit-description -m,--message= -F,--file= --fixup= " +
    "-C,--reuse-message= -c,--reedit-message= --squash= --no-edit --dry-run -t,--template= " +
    "--author= --date= --trailer= -S,--gpg-sign=? -u,--untracked-files=?",
);

function inFolder(parsed: Parsed, call: Call): Call {
  return valuesOf(parsed, "C").reduce(enter, call);
}

function enter(call: Call, path: string): Call {
  const shell = call.shell.fork();
  const from = (folder: string) => path.startsWith("/") ? path : `${folder}/${path}`;
  shell.cwd = from(shell.cwd);
  shell.otherFolders = shell.otherFolders.map(from);
  return { ...call, shell };
}

/** The call in the folder of the repository that an option names. */
function inRepository(parsed: Parsed, call: Call): Call {
  const [git] = valuesOf(parsed, "git-dir");
  return git === undefined ? call : enter(call, git.replace(/\.git\/?$/, "") || ".");
}

/** Whether nothing before the command changes which files it shows and how it reads their names. */
function isPlain({ options }: Parsed): boolean {
  return options.every(({ name, value }) =>
    name === "c"
      ? HARMLESS_KEYS.test(value ?? "")
      : /^(C|paginate|no-pager|P|no-replace-objects|no-optional-locks|no-lazy-fetch|no-advice)$/
        .test(name)
  );
}

/** Settings about colours, names and messages. */
const HARMLESS_KEYS =
  /^(color|user|author|committer|advice|column|safe|http|credential|gc|pack|commit\.gpgsign|tag\.gpgsign|init\.defaultbranch|core\.(pager|quotepath|autocrlf|eol|fsmonitor|editor|preloadindex|longpaths|compression|sshcommand)|diff\.(color\w*|noprefix|mnemonicprefix|renames|renamelimit|algorithm|context)|log\.(date|decorate|showsignature))(\.[\w.-]+)?(=|$)/i;

/** Settings about colours, names and messages, of which an allow rule covers any value. */
const PLAIN_KEYS =
  /^(color(\.\w+)*|advice\.\w+|column\.\w+|(user|author|committer)\.(name|email)|gc\.auto|init\.defaultbranch|(commit|tag)\.gpgsign|core\.(quotepath|autocrlf|eol|safecrlf|filemode|ignorecase|precomposeunicode|preloadindex|longpaths|compression|abbrev)|diff\.(color\w*|noprefix|mnemonicprefix|renames|renamelimit|algorithm|context|interhunkcontext)|log\.(date|decorate|abbrevcommit|showsignature))$/;

/**
 * Whether gate knows what a setting before a git command does: what its value runs or names is judged
 * by itself, or it is a plain one.
 */
export function isKnownSetting(setting: string): boolean {
  const key = setting.split("=")[0]!.toLowerCase();
  return [PLAIN_KEYS, RUN_KEYS, FILE_KEYS, REDIRECT_KEYS, /^alias\./].some((one) => one.test(key));
}

function readSetting(setting: string, aliases: Map<string, string>, call: Call, run: Runner): void {
  const at = setting.indexOf("=");
  const key = (at < 0 ? setting : setting.slice(0, at)).toLowerCase();
  const value = at < 0 ? "true" : setting.slice(at + 1);
  if (isWild(key)) run.doubt("the git setting is unknown", show(setting), call);
  else if (key.startsWith("alias.")) aliases.set(setting.slice(6, at < 0 ? undefined : at), value);
  else applySetting(key, value, call, run);
}

function applySetting(key: string, value: string, call: Call, run: Runner): void {
  if (FILE_KEYS.test(key) && value !== "/dev/null" && value !== "") {
    run.doubt(`the git setting "${key}" names files that git runs`, show(value), call);
  }
  if (REDIRECT_KEYS.test(key)) {
    run.doubt(`the git setting "${key}" names a file or decides what git sends`, show(value), call);
  }
  if (!RUN_KEYS.test(key) || /^(true|false|)$/.test(value)) return;
  const helper = key.includes("credential") && !value.startsWith("!");
  if (helper && /^[\w-]+( --?[\w=-]+)*$/.test(value)) return;
  run.code(value.replace(/^!/, ""), { ...call, stdin: "", shell: call.shell.fork() });
}

function runAlias(alias: string, args: string[], call: Call, run: Runner): string {
  if (alias.startsWith("!")) return run.code([alias.slice(1), ...args].join(" "), call);
  return run.code(
    ["git", alias, ...args.map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`)].join(" "),
    call,
  );
}

/** The options of commands that have an option with shell code. */
const CODE_OPTIONS: Record<string, string> = {
  rebase: "-x,--exec= --onto= -s= -X= -C= -i --interactive",
  "ls-remote":
    "--upload-pack,--exec= -o= --sort= -h,--heads -t,--tags --refs -q,--quiet --exit-code --get-url --symref",
  fetch:
    "--upload-pack= -o= -j= --depth= --shallow-since= --shallow-exclude= --refmap= --filter= -a -f -k -p -t -n -u -q -v",
  "fetch-pack": "--upload-pack,--exec= --depth=",
  pull: "--upload-pack= -s= -X= -o= -j= --depth= -r,--rebase=? -q -v -n -f -k -a -t",
  clone:
    "-u,--upload-pack= -b,--branch= -o,--origin= -c,--config= -j= --depth= --reference= --template= --separate-git-dir= --filter= -l -n -q -v -s",
  push:
    "--receive-pack,--exec= --repo= -o,--push-option= --recurse-submodules= -u,--set-upstream -f,--force -d -n -q -v",
  "send-pack": "--receive-pack,--exec=",
  archive: "--exec= -o,--output= --remote= --prefix= --format= --add-file= -l -v",
  difftool: "-x,--extcmd= -t,--tool= -d -g -y",
  grep:
    "-O,--open-files-in-pager=? -e= -f= -A= -B= -C= -m= --max-depth= --threads= -n -i -l -w -r -E -F -P -G -v -c -h -H -q -I -a -z",
  "filter-branch":
    "--setup= --env-filter= --tree-filter= --index-filter= --parent-filter= --msg-filter= --commit-filter= --tag-name-filter= --subdirectory-filter= -d= -f,--force --original= --state-branch= --prune-empty",
  "send-email":
    "--smtp-server= --sendmail-cmd= --to-cmd= --cc-cmd= --header-cmd= --to= --cc= --bcc= --from= --subject=",
  submodule: "",
  mergetool: "-t,--tool= -y -g",
};

const CODE_NAMES = (
  "exec upload-pack receive-pack extcmd open-files-in-pager setup env-filter tree-filter index-filter " +
  "parent-filter msg-filter commit-filter tag-name-filter smtp-server sendmail-cmd to-cmd cc-cmd header-cmd"
).split(" ");

const CODE_GRAMMARS = new Map(Object.entries(CODE_OPTIONS).map(([name, row]) => [name, spec(row)]));
const OUTPUT_NAMES = "--outp,--outpu,--output-directory,--output";
const OUTPUT = spec(`-o,${OUTPUT_NAMES}=`);
const LONG_OUTPUT = spec(`${OUTPUT_NAMES}=`);

function runOptions(name: string, args: string[], call: Call, run: Runner): void {
  const grammar = CODE_GRAMMARS.get(name);
  const fork = { ...call, stdin: "", shell: call.shell.fork() };
  if (grammar) {
    const parsed = readOptions(args, grammar);
    for (const code of valuesOf(parsed, ...CODE_NAMES)) run.code(code, fork);
    if (name === "clone") runClone(parsed, fork, run);
  }
  for (const arg of args) {
    if (
      arg.startsWith("--out") && /^--outp?u?t?(-[a-z]*)?=/.test(arg) &&
      !/^--output-indicator/.test(arg)
    ) {
      run.touch("write", arg.slice(arg.indexOf("=") + 1), call);
    }
    const helper = !arg.includes("::") ? null : /(?:^|=)([\w-]+)::(.*)$/s.exec(arg);
    if (helper?.[1] === "ext") run.code(helper[2]!, fork);
    else if (helper && /^(fd|file|[\w-]+)$/.test(helper[1]!) && CONNECTS.test(name)) {
      run.doubt("git runs a helper of that name for this address", arg, call);
    }
  }
  touchOutputs("git", [name, ...args], call, run);
  touchArguments(name, args, call, run);
  const short = /^(archive|format-patch|bugreport|diagnose|mailsplit)$/.test(name);
  for (const path of valuesOf(readOptions(args, short ? OUTPUT : LONG_OUTPUT), "output")) {
    run.touch("write", path, call);
  }
  if (name === "apply" || name === "am") runPatch(readOptions(args, PATCH), call, run);
  runSubcommand(name, args, fork, run);
}

const CONNECTS =
  /^(clone|fetch|pull|push|ls-remote|archive|remote|submodule|send-pack|fetch-pack)$/;

/** Git commands that open no file that their operands name. */
const NAMES_ONLY =
  /^(check-ignore|check-attr|check-ref-format|status|ls-files|ls-tree|branch|remote|switch|config|rm|mv|var|symbolic-ref|lfs|reflog)$/;
const GIT_TEXTS =
  /^(-[mSGCce]|--(message|grep|author|committer|format|pretty|date|since|until|after|before|trailer|branch|origin|sort))$/;

/** Git commands that write files or folders in their words. */
const MAKES_FILES = /^(checkout-index|credential-store|fast-export|submodule|subtree|svn)$/;

/** Whether an option of such a command reads the file in its value. */
function takesFile(name: string, option: string): boolean {
  return /^(-[a-zA-Z]*X|--(file|exclude-from|exclude-per-directory|pathspec-from-file))$/.test(
    option,
  ) ||
    (name === "config" && option === "-f");
}

/** Records the files that the arguments of a git command may name. */
function touchArguments(name: string, args: string[], call: Call, run: Runner): void {
  let pattern = name === "grep" && !args.some((arg) => /^-(e|f)/.test(arg));
  // `-S` of these names a file.
  const isBlame = name === "blame" || name === "annotate";
  for (const [at, arg] of args.entries()) {
    const isOption = arg.startsWith("-");
    const before = args[at - 1] ?? "";
    const isText = GIT_TEXTS.test(before) ||
      /^(-[mSG].|--(message|grep|author|format|pretty)=)/.test(arg);
    if (isText && !isBlame) continue;
    if (NAMES_ONLY.test(name) && !isOption && !takesFile(name, before)) continue;
    if (pattern && !isOption) pattern = false;
    else if (!isExclusion(arg)) {
      const value = /^--[\w-]+$/.test(before);
      const undescribed = MAKES_FILES.test(name);
      touchWord(arg, call, run, { unexplained: undescribed || isOption || value, undescribed });
    }
  }
}

function runClone(parsed: Parsed, call: Call, run: Runner): void {
  for (const setting of valuesOf(parsed, "config")) readSetting(setting, new Map(), call, run);
  noteTemplate(parsed, call, run);
  noteGitFolder(parsed, call, run);
  const [address, folder] = parsed.operands;
  const name = folder ?? /([^/:]+?)(?:\.git)?\/*$/.exec(address ?? "")?.[1];
  if (name !== undefined) run.touch("write", name, call);
}

/** Doubts a template, because it may contain hooks. */
function noteTemplate(parsed: Parsed, call: Call, run: Runner): void {
  for (const path of valuesOf(parsed, "template")) {
    if (path !== "") run.doubt("the template may contain hooks that git runs", show(path), call);
  }
}

/** Doubts another place for git's own folder, because nobody expects hooks there. */
function noteGitFolder(parsed: Parsed, call: Call, run: Runner): void {
  for (const path of valuesOf(parsed, "separate-git-dir")) {
    run.doubt("this moves git's own folder with its hooks and config", show(path), call);
    run.touch("write", path, call);
  }
}

function runInit(parsed: Parsed, call: Call, run: Runner): void {
  noteTemplate(parsed, call, run);
  noteGitFolder(parsed, call, run);
  const folder = parsed.operands[0] ?? ".";
  if (has(parsed, "separate-git-dir")) run.touch("delete", `${folder}/.git`, call);
  run.touch("write", folder, call);
}

const PATCH = spec("-p= -C= --directory= --include= --exclude= --whitespace= --patch-format=");

/** `git apply` and `git am`, which change the files that their patches name. */
function runPatch(parsed: Parsed, call: Call, run: Runner): void {
  if (has(parsed, "check", "stat", "numstat", "summary") && !has(parsed, "apply")) return;
  if (has(parsed, "unsafe-paths")) {
    run.doubt("the patch may change any file", call.text, call, "files");
  }
  const folders = valuesOf(parsed, "directory");
  for (const path of parsed.operands.length > 0 ? parsed.operands : [null]) {
    touchPatch(path, call, run, folders);
  }
}

const INIT = spec(
  "--template= --separate-git-dir= -b,--initial-branch= --object-format= -q --bare",
);

function runSubcommand(name: string, args: string[], call: Call, run: Runner): void {
  const [verb, ...rest] = args.filter((arg) => !/^(-q|--quiet|--recursive)$/.test(arg));
  if (name === "bisect" && verb === "run") run.command(rest, call);
  if (name === "submodule" && verb === "foreach") {
    run.code(rest.filter((arg) => arg !== "--").join(" "), call);
  }
  if (name === "for-each-repo") {
    run.command(["git", ...readOptions(args, spec("--config=", { posix: true })).operands], call);
  }
  if (name === "hook" && verb === "run") run.doubt("this runs a git hook", args.join(" "), call);
  if (name === "config") runConfig(args, call, run);
  if (name === "init" || name === "init-db") runInit(readOptions(args, INIT), call, run);
  touchPaths(name, args, call, run);
  if (name === "bundle" && verb === "create") {
    const [file] = readOptions(rest, spec("--version=")).operands;
    if (file !== undefined && file !== "-") run.touch("write", file, call);
  }
  if (name === "merge-file" && !args.includes("-p") && !args.includes("--stdout")) {
    const [file] = readOptions(args, spec("-L=")).operands;
    if (file !== undefined) run.touch("write", file, call);
  }
  if (name === "worktree" && verb === "add") {
    const [folder] =
      readOptions(rest, spec("-b= -B= --reason= -f,--force -d,--detach --lock")).operands;
    if (folder !== undefined) run.touch("write", folder, call);
  }
  if (name === "filter-repo") run.doubt("git filter-repo runs callbacks", args.join(" "), call);
}

const CONFIG = spec(
  "--global --system --local --worktree -f,--file= --blob= --add --replace-all --unset --unset-all --get --get-all " +
    "--get-regexp --get-urlmatch -l,--list -e,--edit --type= -t= --bool --int --path -z,--null --name-only --show-origin " +
    "--show-scope --default= --rename-section --remove-section --includes --fixed-value --all --value=",
);

/** A program by its bare name, with options. */
const BARE_PROGRAM = /^[\w.-]+( --?[\w=.-]+)*$/;

/** `git config`: a value that git runs later counts as run now. */
function runConfig(args: string[], call: Call, run: Runner): void {
  const parsed = readOptions(args, CONFIG);
  const words = parsed.operands[0] === "set" ? parsed.operands.slice(1) : parsed.operands;
  const [key, value] = words;
  if (
    key === undefined || value === undefined || has(parsed, "get", "get-all", "unset", "unset-all")
  ) return;
  for (const path of valuesOf(parsed, "file")) run.touch("write", path, call);
  const lower = key.toLowerCase();
  if (isWild(key)) run.doubt("the git setting is unknown", show(key), call);
  if (lower.startsWith("alias.")) runAlias(value, [], call, run);
  else {
    applySetting(lower, value, call, run);
    if (RUN_KEYS.test(lower) && !BARE_PROGRAM.test(value)) {
      run.doubt("git runs this value later", `${key} ${show(value)}`, call);
    }
  }
}

/** The output of git commands that print one harmless word or the names of files. */
function printed(name: string, args: string[]): string {
  if (
    /^(rev-parse|describe|symbolic-ref|merge-base|name-rev|hash-object|write-tree|commit-tree|rev-list)$/
      .test(name)
  ) {
    return args.includes("--show-toplevel") ? ANY : `${TAME}\n`;
  }
  if (name === "branch" && args.includes("--show-current")) return `${TAME}\n`;
  if (name === "config" && args.length <= 2) return `${TAME}\n`;
  if (
    name === "ls-files" ||
    (/^(diff|grep)$/.test(name) && args.some((arg) => /^(--name-only|-l)$/.test(arg)))
  ) {
    return `./${DEEP}\n`;
  }
  return ANY;
}

/** Git commands that restore, remove or move files. */
const PATHS: Record<string, Spec> = {
  checkout: GRAMMARS.git!.subcommands!.checkout as Spec,
  restore: spec(
    "-s,--source= -S,--staged -W,--worktree -p -q --ours --theirs -m --pathspec-from-file=",
  ),
  rm: GRAMMARS.git!.subcommands!.rm as Spec,
  mv: spec("-f,--force -k -n,--dry-run -v"),
};

/** Records the files that a git command restores, removes or moves. */
function touchPaths(name: string, args: string[], call: Call, run: Runner): void {
  const grammar = Object.hasOwn(PATHS, name) ? PATHS[name] : undefined;
  if (!grammar) return;
  const parsed = readOptions(args, grammar);
  const { operands } = parsed;
  const onlyIndex = has(parsed, "staged") && !has(parsed, "worktree");
  if (has(parsed, "dry-run", "cached") || onlyIndex) return;
  if (name === "checkout") {
    if (!has(parsed, "b", "B", "orphan")) checkOut(args, operands, call, run);
    return;
  }
  const op = name === "restore" ? "write" : "delete";
  for (const path of name === "mv" ? operands.slice(0, -1) : operands) run.touch(op, path, call);
  if (name === "mv" && operands.length > 1) run.touch("write", operands.at(-1)!, call);
}

function checkOut(args: string[], operands: string[], call: Call, run: Runner): void {
  const dashes = args.indexOf("--");
  const certain = dashes < 0 ? operands.slice(1) : args.slice(dashes + 1);
  for (const path of certain) run.touch("write", path, call);
  // The first operand may be a branch or a file.
  if (dashes < 0 && operands[0]) run.touch("write", operands[0], call, { implied: true });
}

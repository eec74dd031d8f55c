import type { Below } from "../below.ts";
import { ANY, isStatic, isWild } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";
import { runInterpreter } from "./inline_code.ts";
import { isInterpreter } from "./languages.ts";
import { has, outside, type Parsed, readOptions, type Spec, valuesOf } from "./options.ts";
import { isArgumentFile, touchArguments, touchListed, touchWord, touchWords } from "./operands.ts";
import { OUTPUTS } from "./outputs.ts";
import { moduleOf, sendsFiles, takesSubcommand } from "./needs.ts";
import { copyReach, grepReach, touchBelow, touchFolders } from "./recursion.ts";
import { type Row, row } from "./record.ts";
import { ROWS } from "./rows.ts";
import { absolutePath } from "../interpret/state.ts";
import { runSubwrapper, SUBWRAPPERS } from "./wrappers.ts";

/**
 * Runs a program without a handler: by its row, or by guessing from its arguments if no table
 * describes it completely.
 */
export function runProgram(
  name: string,
  argv: readonly string[],
  call: Call,
  run: Runner,
  described = true,
): string {
  const written = argv[0]!.includes("/") ? run.content(argv[0]!, call) : null;
  if (written !== null) {
    return run.code(written, { ...call, shell: withArguments(call, argv) });
  }
  const copies = copyingSubcommand(name, argv);
  if (copies !== null) {
    const { grammar } = copies.row;
    const words = copies.argv.slice(1);
    // The value of an option that is not listed may hide the target.
    if (outside(readOptions(words, grammar), grammar).length > 0) {
      for (const word of words) touchWord(word, call, run, { undescribed: true });
    }
    return runRow(copies.row, copies.argv, call, run);
  }
  if (Object.hasOwn(SUBWRAPPERS, name)) {
    const printed = runSubwrapper(argv, SUBWRAPPERS[name]!, call, run);
    if (printed !== null) return printed;
  }
  const row = Object.hasOwn(ROWS, name) ? ROWS[name]! : null;
  if (!described || (sendsFiles(name) && !row?.below)) {
    const from = described && takesSubcommand(name) && /^[a-z-]+$/.test(argv[1] ?? "") ? 2 : 1;
    touchFolders(argv.slice(from), call, run);
  }
  touchWords(name, argv.slice(1), call, run, isInterpreter(name) ? SCRIPT : row, described);
  if (isInterpreter(name)) {
    const [module = "", ...words] = moduleOf(name, argv.slice(1)) ?? [];
    const known = Object.hasOwn(ROWS, module) ? ROWS[module]! : null;
    if (known || WRITING_MODULES.test(module)) touchWords(module, words, call, run, known);
    return runInterpreter(argv, call, run);
  }
  touchOutputs(name, argv, call, run, row?.grammar);
  if (row) runRow(row, argv, call, run);
  return Object.hasOwn(OUTPUTS, name) ? OUTPUTS[name]!(argv, call, run) : ANY;
}

/** Modules of Python that write files in their words. */
const WRITING_MODULES = /^(build|compileall|cProfile|profile|tarfile|trace|venv|zipapp|zipfile)$/;

/** An interpreter only reads its script. */
const SCRIPT = row("reads");

function withArguments(call: Call, argv: readonly string[]) {
  const shell = call.shell.fork();
  shell.program = argv[0]!;
  shell.positional = argv.slice(1);
  return shell;
}

/** Records what a program's row describes: the files that it touches and the code that it runs. */
export function runRow(row: Row, argv: readonly string[], call: Call, run: Runner): string {
  const parsed = readOptions(argv.slice(1), row.grammar);
  const op = has(parsed, ...row.looks) ? "read" : "write";
  for (const path of valuesOf(parsed, ...row.writes)) {
    if (path !== "-") run.touch(op, path, call);
    if (!row.builds) call.shell.files.set(absolutePath(path, call.shell.cwd), ANY);
  }
  for (const [option, place] of row.elsewhere) {
    if (has(parsed, option)) run.touch("write", place, call);
  }
  if (row.keeps) keepInput(parsed, call);
  if (/(^|\/)(g?install|rsync)$/.test(argv[0]!)) {
    for (const mode of valuesOf(parsed, "mode", "chmod")) noteMode(mode, call, run);
  }
  noteDownloads(parsed, argv[0]!, call, run);
  for (const path of valuesOf(parsed, ...row.reads)) {
    if (path !== "-") run.touch("read", row.globs ? globbed(path) : path, call);
  }
  touchLists(row, parsed, argv, call, run);
  for (const code of valuesOf(parsed, ...row.code)) {
    run.code(code.replace(/^!/, ""), { ...call, stdin: ANY, shell: call.shell.fork() });
  }
  touchOperands(row, argv[0]!, parsed, call, run);
  touchNamed(parsed, call, run);
  return ANY;
}

/** The files that lists name, and those that the arguments in a file may name. */
function touchLists(
  row: Row,
  parsed: Parsed,
  argv: readonly string[],
  call: Call,
  run: Runner,
): void {
  const how = row.reveals ? { reveals: row.reveals } : {};
  for (const { name, value } of parsed.options) {
    if (!row.lists.includes(name)) continue;
    if (row.lists_arguments) {
      touchArguments(value, call, run);
      continue;
    }
    // The names of a program that copies start from its first operand.
    const starts = row.operands === "copy" ? parsed.operands.map((path) => `${path}/`) : [""];
    touchListed(value, call, run, { ...how, starts });
  }
  if (has(parsed, ...row.listsWith)) {
    const lists = parsed.operands.length > 0 ? parsed.operands : [null];
    for (const list of lists) touchListed(list, call, run, how);
  }
  for (const word of row.grammar.files ? argv.slice(1) : []) {
    if (isArgumentFile(word)) touchArguments(word.slice(1), call, run);
  }
  for (const word of argv.slice(1)) {
    const [, name, value] = UNKNOWN_LIST.exec(word) ?? [];
    if (name === undefined || row.grammar.long.has(name)) continue;
    for (const list of value === undefined ? parsed.operands : [value]) {
      touchListed(list, call, run, how);
    }
  }
}

/** The name of an option that may take a list of files: `--files0`, `--include-from=list.txt`. */
const UNKNOWN_LIST = /^--([\w-]*(?:files|list|from)[\w-]*)(?:=(.*))?$/s;

/** A path whose braces and brackets the program expands itself. */
function globbed(path: string): string {
  return path.replace(/\{[^{}]*\}|\[[^[\]]*\]/g, ANY);
}

/** `tee x.sh`: afterwards the file contains the input; with `--append` after its old content. */
function keepInput(parsed: Parsed, { shell, stdin }: Call): void {
  for (const path of parsed.operands) {
    const full = absolutePath(path, shell.cwd);
    const before = has(parsed, "append") ? shell.files.get(full) ?? ANY : "";
    shell.files.set(full, before + stdin);
  }
}

/** `curl -w '%output{file}'` writes into that file. */
const OUTPUT_IN = /%output\{(?:>>)?([^}]+)\}/g;

/** `curl -O` and `wget` name the file after the address; its content is unknown. */
function noteDownloads(parsed: Parsed, program: string, call: Call, run: Runner): void {
  const named = valuesOf(parsed, "write-out").flatMap((text) => [...text.matchAll(OUTPUT_IN)]);
  for (const [, path = ""] of named) run.touch("write", path, call);
  const is_named = program.endsWith("wget") && !has(parsed, "output-document");
  if (!is_named && !has(parsed, "remote-name", "remote-name-all")) return;
  const [folder = "."] = valuesOf(parsed, "directory-prefix", "output-dir");
  for (const address of parsed.operands) {
    const name = /([^/?#]+)(?:[?#].*)?$/.exec(address)?.[1];
    if (name === undefined) continue;
    call.shell.files.set(absolutePath(name, call.shell.cwd), ANY);
    if (isStatic(name)) run.touch("write", `${folder}/${name}`, call, { implied: true });
  }
}

const AS_OWNER = /^0*[2-7]\d{3}$|[+=][^,]*s/;

/** Other users run a file with such a mode as its owner, whoever wrote it. */
function noteMode(mode: string, call: Call, run: Runner): void {
  if (isWild(mode) || AS_OWNER.test(mode)) {
    run.doubt("others may run the file as its owner then", call.text, call);
  }
}

function touchOperands(
  row: Row,
  program: string,
  parsed: Parsed,
  call: Call,
  run: Runner,
): void {
  const { operands } = parsed;
  const how = row.reveals ? { reveals: row.reveals } : {};
  const below = row.below?.(parsed) ?? null;
  const all = (op: "read" | "write" | "delete", paths: readonly string[]) => {
    for (const path of paths) if (path !== "-") run.touch(op, path, call, how);
    if (below) touchBelow(paths, below, call, run);
  };
  switch (row.operands) {
    case "reads":
      return all("read", operands);
    case "writes":
      return all(has(parsed, ...row.looks) ? "read" : "write", operands);
    case "deletes":
      return all("delete", operands);
    case "folders":
      return all("read", operands.length > 0 ? operands : ["."]);
    case "pattern": {
      const has_option = has(parsed, "regexp", "file", "from-file");
      const files = has_option ? operands : operands.slice(1);
      const changes = row.onlyWith.length > 0 && has(parsed, ...row.onlyWith);
      // Without an operand it reads the folder, or its input if that is a pipe.
      const piped = call.pipes.some(({ stage }) => stage > 0) && row.below !== grepReach;
      const isOpen = row.here || (files.length === 0 && !piped);
      const folder = below && isOpen ? ["."] : [];
      return all(changes ? "write" : "read", [...files, ...folder]);
    }
    case "mode":
      if (program.endsWith("chmod")) {
        noteMode(has(parsed, "reference") ? ANY : parsed.operands[0] ?? "", call, run);
      }
      return all("write", has(parsed, "reference") ? operands : operands.slice(1));
    case "copy":
    case "move":
    case "link":
      return touchCopies(row.operands, parsed, call, run, below);
  }
}

function touchCopies(
  how: "copy" | "move" | "link",
  parsed: Parsed,
  call: Call,
  run: Runner,
  below: Below | null,
): void {
  const { operands } = parsed;
  const folder = valuesOf(parsed, "target-directory").at(-1);
  if (has(parsed, "directory") && how === "copy") {
    for (const path of operands) run.touch("write", path, call);
    return;
  }
  const dry = has(parsed, "dry-run");
  const alone = folder === undefined && operands.length < 2;
  const sources = folder !== undefined || alone ? operands : operands.slice(0, -1);
  const target = folder ?? (alone ? undefined : operands.at(-1));
  const isShared = how === "link"
    ? !has(parsed, "symbolic")
    : how === "copy" && has(parsed, "link");
  for (const path of sources) {
    if (isRemote(path)) continue;
    run.touch(how === "move" ? "delete" : "read", path, call);
    // What is written to the new name later is written to the old one.
    if (isShared) run.touch("write", path, call);
    if (below) touchBelow([path], below, call, run);
  }
  if (target === undefined || isRemote(target) || dry) return;
  for (const path of sources) {
    if (GATE.test(path)) run.doubt("this gives the gate's program another name", path, call);
  }
  const brings = how !== "copy" || below !== null;
  run.touch("write", target, call, { brings });
  for (const path of sources) {
    const name = path.replace(/\/+$/, "").split("/").at(-1)!;
    const inside = name === "" || name === "." || name === ".."
      ? null
      : `${target.replace(/\/+$/, "")}/${name}`;
    if (inside !== null) run.touch("write", inside, call, { implied: true, brings });
    noteCopies(path, inside === null ? [target] : [target, inside], call);
    keepCopy(
      run.content(path, call) ?? foreign(path, call),
      inside === null ? [target] : [target, inside],
      call,
    );
  }
}

const GATE = /(^|\/)gate(-(linux|darwin|win32)[\w-]*)?(\.exe)?$/;

/** Unknown content for a file outside the folder where the command starts; null inside it. */
function foreign(path: string, { shell }: Call): string | null {
  return absolutePath(path, shell.cwd).startsWith(`${shell.start}/`) ? null : ANY;
}

const MOST_COPIES = 32;

/** Notes what a file or folder may be a copy of. */
function noteCopies(source: string, places: readonly string[], { shell }: Call): void {
  if (shell.copies.length >= MOST_COPIES || !isStatic(source)) return;
  for (const place of places) {
    const copy = [absolutePath(place, shell.cwd), absolutePath(source, shell.cwd)] as const;
    shell.copies = [...shell.copies, copy];
  }
}

/** Notes a copy in both possible places, because the target may be a folder or a file. */
function keepCopy(held: string | null, places: readonly string[], { shell }: Call): void {
  if (held === null) return;
  for (const place of places) shell.files.set(absolutePath(place, shell.cwd), held);
}

/** `host:path` of `scp` and `rsync`. */
function isRemote(path: string): boolean {
  return /^[\w.@-]+:/.test(path) || /^\w+:\/\//.test(path);
}

/** `curl -d @file`, `-F file=@file`: reads a file that an option's value names. */
function touchNamed(parsed: Parsed, call: Call, run: Runner): void {
  for (const { value } of parsed.options) {
    const paths = value === null ? undefined : /(?:^|=)[@<]([^@][^;]*)/.exec(value)?.[1];
    for (const path of paths === undefined ? [] : [paths, ...paths.split(",")]) {
      const bare = path.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1");
      if (bare !== "-") run.touch("read", bare, call, { implied: true });
    }
  }
}

/** Common names of the option for the output file or folder. */
const OUTPUT =
  /^--?(?:o|outp?|outpu?t?|out-?(?:file|dir|path|name)|output[-_]?(?:file|dir|directory|path|document|folder)|dest|dest[-_]?(?:dir|file|path)|destination|target|target[-_]dir(?:ectory)?|install[-_]dir|pack-destination|log-?file|report[-_]?(?:file|dir)|[a-z]+-report|junit-?xml|result[-_]?file|coverprofile|cpuprofile|memprofile|keyout|rdb|[a-z]+-file-output|output-(?:signature|certificate|attestation))$/i;

/** Programs whose last operand is their output file. */
const LAST = new Set([
  "ffmpeg",
  "convert",
  "sox",
  "objcopy",
  "mksquashfs",
  "virtualenv",
  "lwp-download",
]);

/** Programs whose last of several operands is their output file. */
const LAST_OF_SEVERAL = new Set(["magick", "qpdf", "pdftotext", "pdftoppm", "tesseract"]);

const MOST_OPTIONS = 40;

/**
 * Guesses the output files of a program without a row from the names of its options. A rule that
 * blocks a guessed file only asks.
 */
export function touchOutputs(
  name: string,
  argv: readonly string[],
  call: Call,
  run: Runner,
  known?: Spec,
): void {
  for (const [at, word] of argv.entries()) {
    if (at >= MOST_OPTIONS || word === "--") break;
    if (!word.startsWith("-")) continue;
    const written = /^-+([^=]*)/.exec(word)?.[1] ?? "";
    if (known?.long.has(written) || known?.short.has(written[0] ?? "")) continue;
    const path = outputOf(word, argv[at + 1]);
    if (path !== undefined && isPath(path)) run.touch("write", path, call, { guessed: true });
  }
  const last = argv.at(-1)!;
  const several = LAST_OF_SEVERAL.has(name) && !/^(identify|compare)$/.test(argv[1] ?? "") &&
    argv.slice(1).filter((word) => !word.startsWith("-")).length > 1;
  if (argv.length > 1 && (LAST.has(name) || several) && isPath(last)) {
    run.touch("write", last, call, { guessed: true });
  }
}

function outputOf(word: string, next: string | undefined): string | undefined {
  const attached = /^-o(?![a-z-]*=)([./~].*)$/s.exec(word)?.[1];
  if (attached !== undefined) return attached;
  const at = word.indexOf("=");
  if (at > 0) return OUTPUT.test(word.slice(0, at)) ? word.slice(at + 1) : undefined;
  return OUTPUT.test(word) ? next : undefined;
}

function isPath(text: string): boolean {
  return text !== "" && isStatic(text) && !/^-|^\w+:|\s/.test(text);
}

const CLOUD =
  "--exclude= --include= --acl= --profile= --region= --endpoint-url= -r --recursive --delete --dryrun,--dry-run " +
  "--quiet --only-show-errors --no-progress --storage-class= --content-type= --cache-control= " +
  "-P,--progress -v --transfers= -n,--no-clobber -m --zone= --project= -q -d";
const below = copyReach();
const cloud = row("copy", CLOUD, { below });
const away = row("move", CLOUD, { below });
const container = row("copy", "-a,--archive -L,--follow-link -q,--quiet", { below });
const pod = row("copy", "-n,--namespace= -c,--container= --context= --retries= --no-preserve=?", {
  below,
});

/** Subcommands that copy files between this machine and another, one row each. */
const COPIES: Record<string, Row> = {
  "docker cp": container,
  "docker container cp": container,
  "docker compose cp": container,
  "docker-compose cp": container,
  "podman cp": container,
  "nerdctl cp": container,
  "kubectl cp": pod,
  "oc cp": pod,
  "aws s3 cp": cloud,
  "aws s3 mv": away,
  "aws s3 sync": cloud,
  "gsutil cp": cloud,
  "gsutil mv": away,
  "gsutil rsync": cloud,
  "rclone copy": cloud,
  "rclone copyto": cloud,
  "rclone sync": cloud,
  "rclone move": away,
  "gcloud compute scp": cloud,
  "gcloud storage cp": cloud,
  "gcloud storage mv": away,
  "gcloud storage rsync": cloud,
  "multipass transfer": cloud,
};

const COPYING = new Set(Object.keys(COPIES).map((key) => key.split(" ")[0]!));

/** The row of a copying subcommand, and its arguments without the words of the subcommand. */
function copyingSubcommand(
  name: string,
  argv: readonly string[],
): { row: Row; argv: string[] } | null {
  if (!COPYING.has(name)) return null;
  const places = [...argv.keys()].filter((at) => at > 0 && !argv[at]!.startsWith("-")).slice(0, 5);
  for (let from = 0; from < places.length; from++) {
    for (let count = 1; count <= 2; count++) {
      const words = places.slice(from, from + count);
      const key = [name, ...words.map((at) => argv[at]!)].join(" ");
      if (words.length < count || !Object.hasOwn(COPIES, key)) continue;
      return { row: COPIES[key]!, argv: [argv[0]!, ...argv.slice(words.at(-1)! + 1)] };
    }
    if (argv[places[from]! - 1]?.startsWith("-") !== true) return null;
  }
  return null;
}

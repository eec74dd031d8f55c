import { type Below, EVERYTHING } from "../below.ts";
import { ANY, DEEP, isSeveral, isStatic, isWild, SPLIT } from "../holes.ts";
import { type Call, type Runner, runSeveral } from "../interpret/call.ts";
import { has, type Parsed, readOptions, spec, splitCommand, valuesOf } from "./options.ts";
import { touchListed } from "./operands.ts";
import { endOfExec, FIND_VALUES, readFind } from "./recursion.ts";

const XARGS = spec(
  "-0,--null -a,--arg-file= -d,--delimiter= -E= -e,--eof=? -I= -i,--replace=? -L= -l,--max-lines=? " +
    "-n,--max-args= -o,--open-tty -P,--max-procs= -p,--interactive -r,--no-run-if-empty -s,--max-chars= " +
    "-t,--verbose -x,--exit -J= -R= -S= --process-slot-var= --show-limits",
);

/** The most commands from one list that are followed. */
const MOST_ITEMS = 32;

/** `xargs`: runs the command with its input appended, or inserted at the placeholder. */
export function runXargs(argv: readonly string[], call: Call, run: Runner): string {
  const { parsed, rest } = splitCommand(argv.slice(1), XARGS, 0);
  const file = valuesOf(parsed, "arg-file").at(-1);
  for (const path of valuesOf(parsed, "arg-file")) run.touch("read", path, call);
  const text = file === undefined ? call.stdin : run.content(file, call) ?? ANY;
  const words = rest.length > 0 ? rest : ["echo"];
  const place = has(parsed, "I")
    ? valuesOf(parsed, "I").at(-1)!
    : has(parsed, "replace")
    ? valuesOf(parsed, "replace").at(-1) ?? "{}"
    : null;
  if (text === "" && CHANGES.test(words[0]!)) {
    run.doubt("its input names the files that this changes", words.join(" "), call);
  }
  const inner = { ...call, stdin: "" };
  const between = separatorOf(parsed);
  if (place === null || place === "") {
    const items = between === null || isWild(text) ? itemsOf(text) : split(text, between);
    const [item] = items;
    const isWhole = between !== null && items.length === 1 && item!.includes(DEEP);
    const found = { path: item!, below: { ...EVERYTHING, links: true, vague: true } };
    followBatches(words, text, parsed, inner, run);
    const given = isWhole ? { ...inner, found } : inner;
    return runSeveral([...words, ...items], isSeveral, given, run);
  }
  // A line may still come from what the text does not tell, such as a terminal.
  const lines = isWild(text) || text === "" ? [ANY] : split(text, between ?? "\n");
  if (lines.length > MOST_ITEMS) run.doubt("it runs too many commands to analyse", words[0]!, call);
  for (const line of lines.slice(0, MOST_ITEMS)) {
    const argv = words.map((word) => word.replaceAll(place, line.trim()));
    run.command(argv, inner);
    // GNU xargs replaces nothing in the name of the program.
    if (argv[0] !== words[0]) run.command([words[0]!, ...argv.slice(1)], inner);
  }
  return ANY;
}

/** With a limit, `xargs` runs several commands, and each of them has a first and a last word. */
function followBatches(
  words: readonly string[],
  text: string,
  parsed: Parsed,
  call: Call,
  run: Runner,
): void {
  if (!isStatic(text)) return;
  const between = separatorOf(parsed);
  const [most, lines] = [valuesOf(parsed, "max-args").at(-1), valuesOf(parsed, "L", "max-lines")];
  const batches = most !== undefined
    ? batchesOf(between === null ? itemsOf(text) : split(text, between), Number(most))
    : lines.length > 0 || has(parsed, "max-lines")
    ? batchesOf(text.split("\n"), Number(lines.at(-1) ?? 1)).map((some) => itemsOf(some.join(" ")))
    : [];
  const sized = valuesOf(parsed, "max-chars", "R", "S").length > 0;
  if (sized || batches.length > MOST_ITEMS) {
    run.doubt("it runs too many commands to analyse", words.join(" "), call);
  }
  if (batches.length < 2) return;
  for (const batch of batches.slice(0, MOST_ITEMS)) run.command([...words, ...batch], call);
}

/** The items in groups of at most `size`; one group of all for a size that is no number. */
function batchesOf(items: readonly string[], size: number): string[][] {
  if (!(size >= 1)) return [[...items]];
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, at) => items.slice(at * size, (at + 1) * size),
  );
}

/** Programs that change the files in their arguments. */
const CHANGES = /^(mv|cp|ln|rm|rmdir|touch|chmod|chown|truncate|tee|shred|install)$/;

/** The separator of `-d` or `-0`; null if blanks separate items and quotes count. */
function separatorOf(parsed: Parsed): string | null {
  const given = valuesOf(parsed, "delimiter").at(-1);
  if (given !== undefined) return given === "\\0" ? "\0" : given === "\\n" ? "\n" : given;
  return has(parsed, "null") ? "\0" : null;
}

function split(text: string, between: string): string[] {
  return text.replace(/\n$/, "").split(between).filter((item) => item !== "");
}

function itemsOf(text: string): string[] {
  if (text === "") return [];
  return text.replaceAll(ANY, SPLIT).split(/\s+/).filter(Boolean).map((item) =>
    isStatic(item) ? item.replace(/["'\\]/g, "") : belowGlob(item)
  );
}

/** Names of a glob as any names below its folder, because a name with a blank becomes several. */
function belowGlob(item: string): string {
  const at = item.search(/[\uFDD4-\uFDD6]/);
  return at < 0 || item.includes(DEEP) || isWild(item)
    ? item
    : `${item.slice(0, item.lastIndexOf("/", at) + 1)}${DEEP}`;
}

/** `find`: deletes, writes and runs commands. Returns the names of files below its folders. */
export function runFind(argv: readonly string[], call: Call, run: Runner): string {
  const args = argv.slice(1);
  const first = args.findIndex((arg) => /^[-(!]/.test(arg) && !/^-([HLPO]|D)/.test(arg));
  const starts = args.slice(0, first < 0 ? undefined : first).filter((arg) => !arg.startsWith("-"));
  const folders = starts.length > 0 ? starts : ["."];
  const follows = args.slice(0, Math.max(first, 0)).includes("-L");
  const { below: reached, name } = readFind(folders, first < 0 ? [] : args.slice(first));
  const below = { ...reached, links: reached.links || follows };
  const found = folders.map((folder) =>
    `${folder.replace(/\/+$/, "")}/${DEEP}${name === null ? "" : `/${name}`}`
  );
  const whole = !args.some((arg) => /^-(i?name|i?path|i?regex|i?wholename)$/.test(arg));
  for (let at = Math.max(first, 0); at < args.length; at++) {
    const action = args[at]!;
    if (/^-(exec|execdir|ok|okdir)$/.test(action)) {
      const end = endOfExec(args, at + 1);
      const joins = args[end] === "+";
      runEach(args.slice(at + 1, end), found, { call, below, joins }, run);
      at = end;
    } else if (action === "-delete") {
      for (const path of whole ? folders : found) run.touch("delete", path, call);
    } else if (/^-(fprint|fprint0|fls|fprintf)$/.test(action)) {
      run.touch("write", args[++at] ?? ANY, call);
    } else if (action === "-files0-from") {
      const list = args[++at] ?? "-";
      if (list !== "-") run.touch("read", list, call);
      touchListed(list, call, run);
    } else if (FIND_VALUES.has(action)) at++;
  }
  for (const folder of folders) {
    // With a slash at the end it is a folder, and what is below it stands in `found`.
    const how = folder.endsWith("/") ? { reveals: "names" as const } : {};
    run.touch("read", folder, call, { implied: true, ...how });
  }
  // These print more than names, or what their format says.
  if (args.some((arg) => /^-(printf|ls|exec|execdir|ok|okdir)$/.test(arg))) return ANY;
  return found.map((path) => `${path}\n`).join("");
}

/** Runs a command for each of the paths. `joins`: one command gets many of them. */
function runEach(
  words: string[],
  paths: string[],
  { call, below, joins }: { call: Call; below?: Below; joins: boolean },
  run: Runner,
): void {
  const isOwn = below !== undefined && !words.some((word) => word.includes(DEEP));
  for (const path of paths) {
    const inner = { ...call, stdin: "", ...isOwn && { found: { path, below } } };
    const argv = words.map((word) => word.replaceAll("{}", path));
    runSeveral(argv, (word) => joins && word.includes(path), inner, run);
  }
}

const FD = spec(
  "-H,--hidden -I,--no-ignore -u -s -i -g,--glob -F -a -l -L -p -0 -d,--max-depth= -E,--exclude= -t,--type= " +
    "-e,--extension= -S,--size= -o,--owner= --changed-within= --changed-before= -c,--color= -j,--threads= " +
    "-x,--exec -X,--exec-batch -C,--base-directory= --search-path=",
);

/** `fd`: as `find`, with `-x` and `-X` to run commands. */
export function runFd(argv: readonly string[], call: Call, run: Runner): string {
  const at = argv.findIndex((arg) => /^(-x|-X|--exec|--exec-batch)$/.test(arg));
  const { operands } = readOptions(argv.slice(1, at < 0 ? undefined : at), FD);
  const found = (operands.length > 1 ? operands.slice(1) : ["."]).map((folder) =>
    `${folder}/${DEEP}`
  );
  if (at > 0) {
    const words = argv.slice(at + 1).filter((word) => word !== ";");
    const placed = words.some((word) => /\{(\/|\.|\/\/|\/\.)?\}/.test(word));
    const inPlace = words.map((word) => word.replace(/\{(\/|\.|\/\/|\/\.)?\}/g, "{}"));
    const joins = /^(-X|--exec-batch)$/.test(argv[at]!);
    runEach(placed ? inPlace : [...inPlace, "{}"], found, { call, joins }, run);
  }
  return found.map((path) => `${path}\n`).join("");
}

const PARALLEL = spec(
  "-j,--jobs= -N= -n,--max-args= -L= -l -k,--keep-order -I= -a,--arg-file= -C,--colsep= -d,--delimiter= -0,--null " +
    "-P= -X -m -q,--quote -t,--verbose -u --bar --eta --progress --halt= --joblog= --results= --resume " +
    "--retries= --timeout= --delay= --dry-run --pipe --block= --tag --no-notice --will-cite -S,--sshlogin= --shuf",
);

/** GNU `parallel`: runs the command with each argument; without a command, each argument is one. */
export function runParallel(argv: readonly string[], call: Call, run: Runner): string {
  const { parsed, rest } = splitCommand(argv.slice(1), PARALLEL, 0);
  const file = valuesOf(parsed, "arg-file").at(-1);
  const at = rest.findIndex((word) => /^:::\+?:?\+?$/.test(word));
  const words = at < 0 ? rest : rest.slice(0, at);
  const read = file === undefined || file === "-" ? call.stdin : run.content(file, call) ?? ANY;
  const given = at < 0 ? itemsByLine(read) : rest.slice(at + 1);
  const fromFiles = at >= 0 && rest[at]!.startsWith("::::");
  const lists = fromFiles ? rest.slice(at + 1) : [];
  for (const list of [...valuesOf(parsed, "arg-file"), ...lists]) {
    if (list !== "-") run.touch("read", list, call);
  }
  const items = fromFiles ? [ANY] : given.filter((item) => !/^:::/.test(item));
  const plain = words.length > 0 && words.every((word) => /^([\w./:=@%+,-]+|\{\})$/.test(word));
  if (items.length > MOST_ITEMS) run.doubt("it runs too many commands to analyse", argv[0]!, call);
  if (has(parsed, "max-args", "N", "L", "l", "m", "X")) {
    run.doubt("it joins arguments to commands of unknown length", argv.join(" "), call);
  }
  for (const item of items.slice(0, MOST_ITEMS)) {
    if (plain) {
      const placed = words.map((word) => word === "{}" ? item : word);
      run.command(words.includes("{}") ? placed : [...placed, item], { ...call, stdin: "" });
      continue;
    }
    const code = words.length === 0
      ? item
      : /\{[^\s}]*\}/.test(words.join(" "))
      ? words.join(" ").replace(/\{[^\s}]*\}/g, () => item)
      : `${words.join(" ")} ${item}`;
    run.code(code, { ...call, stdin: "", shell: call.shell.fork() });
  }
  return ANY;
}

function itemsByLine(text: string): string[] {
  return isWild(text) ? [ANY] : text.split("\n").filter(Boolean);
}

import { ANY, isSeveral, isStatic, isWild, show } from "../holes.ts";
import type { Call, Handler, Runner } from "../interpret/call.ts";
import { touchCode } from "./operands.ts";
import { readOptions, spec, valuesOf } from "./options.ts";

const AWK = spec(
  "-F,--field-separator= -v,--assign= -f,--file= -b -c -C -d,--dump-variables=? -e,--source= " +
    "-E,--exec= -g -h -i,--include= -l,--load= -L=? -M -n -N -o,--pretty-print=? -O -p,--profile=? -P -r " +
    "-s -S -t -V",
  { posix: true },
);

/** `awk`: commands that `system` and pipes run, and the files that it reads and prints into. */
export const runAwk: Handler = (argv, call, run) => {
  const parsed = readOptions(argv.slice(1), AWK);
  const given = valuesOf(parsed, "source");
  const scripts = valuesOf(parsed, "file", "exec");
  const isGiven = given.length > 0 || scripts.length > 0;
  const programs = isGiven ? given : parsed.operands.slice(0, 1);
  const files = isGiven ? parsed.operands : parsed.operands.slice(1);
  for (const program of programs) followAwk(program, call, run);
  for (const path of scripts) {
    if (path !== "-") touchCode("awk", path, call, run);
    followAwk((path === "-" ? call.stdin : run.content(path, call)) ?? "", call, run);
  }
  for (const path of valuesOf(parsed, "dump-variables", "pretty-print", "profile")) {
    run.touch("write", path, call);
  }
  for (const path of valuesOf(parsed, "include")) {
    if (path !== "inplace") run.touch("read", path, call);
    else for (const file of files) run.touch("write", file, call);
  }
  for (const path of files) if (!/^\w+=/.test(path)) run.touch("read", path, call);
  return ANY;
};

/** `print > name` or `print > "a" name`: a computed file. */
const COMPUTED_TARGET =
  /\bprintf?\b(?:[^;}\n>()]|\([^()]*\)){0,300}>\s*(?:[A-Za-z_$(]|"[^"]*"[ \t]*["\w$(])/;

function followAwk(program: string, call: Call, run: Runner): void {
  if (isSeveral(program)) {
    run.doubt("the name of a file becomes the awk program", show(program), call);
    return;
  }
  if (isWild(program)) {
    run.doubt("part of the awk program is unknown", show(program), call, "code");
    return;
  }
  const tokens = readAwk(program);
  if (tokens === null) {
    run.doubt("gate cannot read this awk program", show(program), call, "code");
    return;
  }
  const bare = joinLines(tokens.map(({ kind, text }) => kind === "regex" ? "//" : text).join(""));
  const noText = withoutTexts(tokens);
  for (const [, path] of bare.matchAll(/<\s*"([^"]+)"/g)) {
    run.touch("read", path!, call, { implied: true });
  }
  for (const [, path] of bare.matchAll(/@include\s*"([^"]+)"/g)) {
    run.touch("read", path!, call, { implied: true });
  }
  if (
    /\bgetline\b[^;}\n<]*<\s*[^"\s]|\bARG[VC]\b[^=;}\n]*=(?!=)|\bSYMTAB\b/.test(noText) ||
    /\bgetline\b[^;}\n<]*<\s*"[^"]*"\s*[^\s;)}>]/.test(noText)
  ) {
    run.doubt("awk reads a computed file", program, call);
  }
  for (const [, path] of bare.matchAll(/>>?\s*"([^"]+)"/g)) {
    if (!path!.startsWith("/dev/std")) run.touch("write", path!, call);
  }
  if (/@\s*\w+\s*\(/.test(noText)) run.doubt("awk calls a function by name", program, call);
  if (
    !/\bsystem\s*\(|(^|[^|])\|&?\s*("|getline|[A-Za-z_($])|@load/.test(noText) &&
    !COMPUTED_TARGET.test(noText)
  ) return;
  const supposed = { ...call, supposed: true, stdin: "" };
  for (const { kind, text } of tokens) {
    if (kind === "text") run.code(text.slice(1, -1).replace(/\\(["\\])/g, "$1"), supposed);
  }
  if (!COMPUTED_TARGET.test(noText) && isHarmlessPipe(bare)) return;
  run.doubt("awk runs a command or writes a computed file", program, call);
}

/** Whether the program only pipes into fixed filters that read, such as `… | "sort"`. */
function isHarmlessPipe(program: string): boolean {
  if (/\bsystem\s*\(|@load|getline/.test(program)) return false;
  const targets = [...program.matchAll(/\|&?\s*("[^"]*"|[^\s"]+)/g)].map((one) => one[1]!);
  return targets.every((target) =>
    /^"(sort|uniq|wc|head|tail|cat|column|nl)( -[\w]+)*( 1>&2)?"$/.test(target)
  );
}

/** A piece of an awk program. */
interface Token {
  kind: "text" | "regex" | "word" | "other";
  text: string;
}

const PIECE =
  /(?<text>"(?:[^"\\\n]|\\[^])*")|(?<word>[A-Za-z_]\w*)|(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|#[^\n]*|\+\+|--|\\\r?\n|[^]/y;
const REGEX = /\/((?:[^/\\\n[]|\\[^\n]|\[\^?\]?(?:[^\]\\\n/]|\\[^\n])*\])*)\//y;

/** Words after which a slash begins a pattern, unlike after a name. */
const BEFORE_PATTERN = new Set(
  "print printf return in exit delete else do".split(" "),
);
const CONDITIONS = new Set(["if", "while", "for"]);

/** Whether it is a word of awk after which some versions divide: after `length` mawk does not. */
function isOwnWord(word: string): boolean {
  return /^[a-z]/.test(word) && (WORDS.has(word) || COMMANDS.test(word)) &&
    !BEFORE_PATTERN.has(word);
}

/**
 * The pieces of an awk program. A slash is a division after a value and begins a pattern elsewhere.
 * Null for a program that versions of awk read in different ways.
 */
function readAwk(program: string): Token[] | null {
  const tokens: Token[] = [];
  /** For each open parenthesis, whether it encloses a condition. */
  const open: boolean[] = [];
  let isValue = false;
  let last = "";
  for (let at = 0; at < program.length;) {
    if (program[at] === "/" && isOwnWord(last)) return null;
    if (program[at] === "/" && !isValue) {
      REGEX.lastIndex = at;
      const found = REGEX.exec(program);
      if (!found) return null;
      tokens.push({ kind: "regex", text: found[0] });
      at += found[0].length;
      [isValue, last] = [true, "/"];
      continue;
    }
    PIECE.lastIndex = at;
    const { 0: text, groups } = PIECE.exec(program)!;
    at += text.length;
    // For some versions they are names, after which a slash divides.
    if (text === '"' || text === "switch" || text === "case") return null;
    const kind = groups!.text !== undefined
      ? "text"
      : groups!.word !== undefined
      ? "word"
      : "other";
    tokens.push({ kind, text: text.startsWith("#") ? "" : text });
    if (/^[ \t\r]$|^#|^\\/.test(text)) {
      if (text === "\\") return null;
      continue;
    }
    if (text === "(") open.push(CONDITIONS.has(last));
    const isCondition = text === ")" && open.pop() === true;
    // After `++` a slash divides only if a value comes before, which `x++ / y` may mean.
    if ((text === "++" || text === "--") && /^\s*\//.test(program.slice(at))) return null;
    isValue = kind === "text" || groups!.number !== undefined || text === "]" ||
      (text === ")" && !isCondition) ||
      (kind === "word" && !BEFORE_PATTERN.has(text) && !CONDITIONS.has(text));
    last = text;
  }
  return tokens;
}

/** The program with empty patterns and texts. */
function withoutTexts(tokens: readonly Token[]): string {
  return joinLines(
    tokens.map(({ kind, text }) => kind === "regex" ? "//" : kind === "text" ? '""' : text)
      .join(""),
  );
}

/** The program with a statement that goes on after the end of a line in one line. */
function joinLines(bare: string): string {
  return bare.replace(GOES_ON, "$1 ");
}

/** A line end where no value ends, so that some version of awk reads on. */
const GOES_ON =
  /(\bin|[^\w)\]"/+\-\s;{}]|(?<!\+)\+(?:\+\+)*|(?<!-)-(?:--)*|(?<!\/)\/(?:\/\/)*)[ \t\r]*\n\s*/g;

const WORDS = new Set(
  ("BEGIN END BEGINFILE ENDFILE NR NF FNR FS OFS RS ORS RSTART RLENGTH SUBSEP CONVFMT OFMT FIELDWIDTHS FPAT IGNORECASE RT " +
    "FILENAME if else while for do in break continue next nextfile exit return function func delete print printf switch " +
    "case default length substr index split sub gsub gensub match sprintf tolower toupper int sqrt exp log sin cos atan2 " +
    "rand srand strftime systime mktime asort asorti strtonum and or xor lshift rshift compl typeof isarray patsplit")
    .split(" "),
);

/** Prints, patterns and arithmetic of awk; no other file, no program, no variable of the environment. */
export function isComputingAwk(code: string): boolean {
  const tokens = isStatic(code) ? readAwk(code) : null;
  if (tokens === null) return false;
  const bare = withoutTexts(tokens);
  if (/[@\\]/.test(bare) || bare.replaceAll("||", "").includes("|")) return false;
  if (bare.split(/[;{}\n]/).some((part) => /\bprintf?\b/.test(part) && part.includes(">"))) {
    return false;
  }
  // For mawk "func" is no keyword, so it may stand before anything.
  const own = new Set([...bare.matchAll(/\bfunc(?:tion)?\s+(\w+)/g)].map((one) => one[1]!));
  return [...bare.matchAll(/([A-Za-z_]\w*)(\s*\()?/g)].every(([, word, called]) =>
    WORDS.has(word!) ||
    ((called === undefined || own.has(word!)) && OWN_NAME.test(word!) && !COMMANDS.test(word!))
  );
}

/** A name that is no variable of awk itself: those have more than three letters, all upper case. */
const OWN_NAME = /^(?:[A-Z]{1,3}|\w*[a-z]\w*|_+)$/;

/** Words of some versions of awk that act without parentheses. */
const COMMANDS = /^(getline|close|fflush|system)$/;

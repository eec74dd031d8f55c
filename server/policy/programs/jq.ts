import { ANY, isSeveral, isStatic } from "../holes.ts";
import type { Handler } from "../interpret/call.ts";
import { baseName } from "./grammar.ts";
import { touchCode } from "./operands.ts";
import { has, readOptions, valuesOf } from "./options.ts";
import { runRow } from "./program.ts";
import { row } from "./record.ts";
import { ROWS } from "./rows.ts";

const OTHER = row("pattern");

/** Words of a query that load a file by a name in the query or in its data. */
const LOADS = /(?<![.$\w])(import|include|modulemeta|load(_\w+)?|eval)\b/;

/** `jq` and `yq`: a query that loads files may read any of them. */
export const runQuery: Handler = (argv, call, run) => {
  const name = baseName(argv[0]!);
  const described = Object.hasOwn(ROWS, name) ? ROWS[name]! : OTHER;
  const parsed = readOptions(argv.slice(1), described.grammar);
  const files = valuesOf(parsed, "from-file");
  for (const path of files) touchCode(name, path, call, run);
  // In older versions the first operand is the file of -f, wherever the option stands.
  const [first] = parsed.operands;
  const isFirst = () => files.length === 0 || argv.indexOf(first!) < argv.indexOf(files[0]!);
  if (has(parsed, "from-file") && first !== undefined && isFirst()) {
    touchCode(name, first, call, run);
  }
  const scripts = files.map((path) => run.content(path, call) ?? "");
  for (const [at, query] of [...parsed.operands.slice(0, 2), ...scripts].entries()) {
    // Without -f the second operand is a file in any case.
    const isOpen = isSeveral(query) && (at === 0 || files.length > 0);
    if (isOpen || LOADS.test(withoutTexts(query) ?? query)) {
      run.touch("read", ANY, call, { implied: true });
    }
  }
  return runRow(described, argv, call, run);
};

/** The program in the arguments of jq; null if it is in a file. */
export function jqProgram(args: readonly string[]): string | null {
  const parsed = readOptions(args, ROWS.jq!.grammar);
  return has(parsed, "from-file") ? null : parsed.operands[0] ?? null;
}

/**
 * Whether the code comes from a file that gate does not look up: of a stream, or of an older version of
 * jq, for which `-f` has no value and makes the first of all other words the file.
 */
export function hasUncertainFile(args: readonly string[]): boolean {
  const parsed = readOptions(args, ROWS.jq!.grammar);
  const [file, ...more] = valuesOf(parsed, "from-file");
  if (file === undefined) return false;
  const at = args.indexOf(file);
  const [first] = parsed.operands;
  const isFirst = at >= 0 && (first === undefined || args.indexOf(first) > at);
  return !isFirst || more.length > 0 || /^(?:-|\/+(?:dev|proc)\/.*)$/.test(file);
}

const WORDS = new Set(
  ("IN INDEX GROUP_BY UNIQUE_BY JOIN abs acos acosh add all and any arrays as ascii ascii_downcase ascii_upcase asin asinh atan " +
    "atan2 atanh booleans break bsearch builtins capture catch cbrt ceil combinations contains copysign cos " +
    "cosh debug del delpaths drem elif else empty end endswith erf error exp exp10 exp2 explode expm1 fabs " +
    "false fdim finites first flatten floor fma fmax fmin fmod foreach format frexp from_entries fromdate " +
    "fromdateiso8601 fromjson fromstream gamma getpath gmtime group_by gsub halt halt_error has have_decnum " +
    "have_literal_numbers hypot if implode in index indices infinite input input_line_number inputs inside " +
    "isempty isfinite isinfinite isnan isnormal isvalid iterables j0 j1 jn join keys keys_unsorted label last " +
    "ldexp leaf_paths length lgamma lgamma_r limit localtime log log10 log1p log2 logb ltrim ltrimstr map " +
    "map_values match max max_by min min_by mktime modf nan nearbyint nextafter nexttoward normals not now nth " +
    "null nulls numbers objects or path paths pick pow pow10 range recurse recurse_down reduce remainder repeat " +
    "reverse rindex rint round rtrim rtrimstr scalars scalars_or_empty scalb scalbln scan select setpath " +
    "significand sin sinh skip sort sort_by split splits sqrt startswith stderr strflocaltime strftime strings " +
    "strptime sub tan tanh test tgamma then to_entries toarray toboolean todate todateiso8601 tojson tonumber " +
    "tostream tostring transpose trim trimstr true trunc truncate_stream try type unique unique_by until " +
    "utf8bytelength values walk while with_entries y0 y1 yn").split(" "),
);

/** Words of a closed list: no module, no variable of the environment, no other file. */
export function isComputingJq(code: string): boolean {
  const bare = isStatic(code) ? withoutTexts(code) : null;
  if (bare === null || bare.includes("#")) return false;
  const own = new Set<string>();
  let rest = bare;
  // A function is known only after its definition, and one inside of something only there.
  for (let found = DEFINITION.exec(rest); found; found = DEFINITION.exec(rest)) {
    const [head, name, given = ""] = found;
    const body = upToEnd(rest.slice(head.length));
    const params = given.split(";").map((one) => one.replace("$", "").trim());
    if (body === null || !usesOnly(body, new Set([...own, name!, ...params]))) return false;
    own.add(name!);
    rest = rest.slice(head.length + body.length + 1);
  }
  return usesOnly(rest, own);
}

const DEFINITION = /^\s*def\s+(\w+)\s*(?:\(([^)]*)\)\s*)?:/;

/** The code up to the first `;` outside of brackets; null if there is none. */
function upToEnd(code: string): string | null {
  let open = 0;
  for (let at = 0; at < code.length; at++) {
    if ("([{".includes(code[at]!)) open++;
    else if (")]}".includes(code[at]!)) open--;
    else if (code[at] === ";" && open === 0) return code.slice(0, at);
  }
  return null;
}

/** Whether a piece of code has only words of the list, those of its own, and names of fields. */
function usesOnly(bare: string, own: ReadonlySet<string>): boolean {
  return [...bare.matchAll(/([.$@]*)(?<!\w)([A-Za-z_]\w*)(\s*:(?!:))?/g)].every(
    ([, sign, word, colon], at, all) => {
      if (sign!.endsWith("$")) return !/^(ENV|__prog\w*)$/.test(word!);
      if (sign!.endsWith(".") || sign!.endsWith("@")) return true;
      if (WORDS.has(word!) || own.has(word!)) return true;
      const before = bare.slice(0, all[at]!.index);
      const after = bare.slice(all[at]!.index + all[at]![0].length);
      const isWhole = colon !== undefined || /^\s*[,}]/.test(after);
      return isWhole && /[{,]\s*$/.test(before) && innermost(before) === "{";
    },
  );
}

/** The last bracket that is open at the end of the code. */
function innermost(code: string): string | undefined {
  const open: string[] = [];
  for (const [bracket] of code.matchAll(/[()[\]{}]/g)) {
    if ("([{".includes(bracket)) open.push(bracket);
    else open.pop();
  }
  return open.at(-1);
}

/** The code with its texts empty, except for the code that they insert; null if a text has no end. */
function withoutTexts(code: string): string | null {
  let bare = "";
  /** For each text around the place, how many parentheses are open in its inserted code. */
  const open: number[] = [];
  let isText = false;
  for (let at = 0; at < code.length; at++) {
    const char = code[at]!;
    if (isText) {
      if (char === '"') [isText, bare] = [false, `${bare}"`];
      else if (char === "\\" && code[at + 1] === "(") {
        [isText, bare] = [false, `${bare}"(`];
        open.push(0);
        at++;
      } else if (char === "\\") at++;
      continue;
    }
    bare += char;
    if (char === '"') isText = true;
    else if (char === "(" && open.length > 0) open[open.length - 1]!++;
    else if (char === ")" && open.length > 0 && open[open.length - 1]!-- === 0) {
      open.pop();
      bare += '"';
      isText = true;
    }
  }
  return isText || open.length > 0 ? null : bare;
}

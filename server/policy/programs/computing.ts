import { isStatic } from "../holes.ts";
import { isComputingAwk } from "./awk.ts";
import { isComputingSed } from "./sed.ts";
import { hasUncertainFile, isComputingJq, jqProgram } from "./jq.ts";
import { isComputingPerl, isComputingRuby } from "./one_liners.ts";

const AWK = /^[gmn]?awk$/;

/**
 * Whether a call has inline code that may do more than compute and print. Only the plainest form is
 * known: the option, the code, and nothing else; for `awk` the code and the names of files.
 */
export function hasOpenCode(
  program: string,
  args: readonly string[],
  { is_piped }: { is_piped: boolean },
): boolean {
  if (AWK.test(program)) {
    const [code, ...files] = args.slice(/^-F./.test(args[0] ?? "") ? 1 : args[0] === "-F" ? 2 : 0);
    return !isComputing(program, code ?? "-") || files.some((file) => /^-|=/.test(file));
  }
  if (program === "jq") {
    if (hasUncertainFile(args)) return true;
    const code = jqProgram(args);
    return code !== null && !isComputing(program, code);
  }
  const option = Object.hasOwn(CODE_OPTIONS, program) ? CODE_OPTIONS[program]! : null;
  if (option === null || !args.some((arg) => option.test(arg))) return false;
  // A pipe may be closed before Python prints. New versions then load `traceback.py` of the folder.
  if (is_piped && program.startsWith("python")) return true;
  const isPlain = (PLAIN_OPTIONS[program] ?? /^-e$/).test(args[0]!);
  return args.length !== 2 || !isPlain || !isComputing(program, args[1]!);
}

/** Whether a call of `gh` filters its output by code that may print the environment. */
export function hasOpenFilter(program: string, args: readonly string[]): boolean {
  if (program !== "gh") return false;
  return args.some((arg, at) => {
    const code = /^(?:--jq=|-[a-zA-Z]*q)([^]*)$/.exec(arg)?.[1] ?? (arg === "--jq" ? "" : null);
    return code !== null && !isComputing("jq", code || args[at + 1] || "");
  });
}

const CODE_OPTIONS: Record<string, RegExp> = {
  python: /^-[a-zA-Z]*c/,
  python3: /^-[a-zA-Z]*c/,
  node: /^(-[a-z]*[ep]|--eval|--print)/,
  perl: /^-[a-zA-Z0-9]*[eE]/,
  ruby: /^-[a-zA-Z0-9]*e/,
};

/** Of other letters before it, some take the rest as their value (`-mc`), read files or the input. */
const PLAIN_OPTIONS: Record<string, RegExp> = {
  python: /^-[BEIPSsuq]*c$/,
  python3: /^-[BEIPSsuq]*c$/,
  node: /^(-e|-p|-pe|--eval|--print)$/,
};

/** Whether code only computes and prints: it opens, loads and runs nothing. A closed list. */
export function isComputing(program: string, code: string): boolean {
  const acts = Object.hasOwn(ACTS, program) ? ACTS[program] : undefined;
  if (acts) return isStatic(code) && code.length <= MOST_LETTERS && !acts.test(code);
  if (!isStatic(code) || code.length > 2_000) return false;
  if (AWK.test(program)) return !code.startsWith("-") && isComputingAwk(code);
  if (program === "jq") return isComputingJq(code);
  if (program === "sed") return isComputingSed(code);
  if (program === "perl") return isComputingPerl(code);
  if (program === "ruby") return isComputingRuby(code);
  return program === "node" ? isComputingNode(code) : PYTHON.test(code);
}

const MOST_LETTERS = 100_000;
const SQL =
  /\\|^[ \t]*\.|\b(?:copy|program|pg_(?:read|ls|stat)\w*|lo_\w+|dblink\w*|load\w*|language|extension|attach|vacuum|readfile|writefile|fsdir|lsdir|edit)\b/im;

/** Everything in a language of settings or queries that opens, loads or runs something. */
const ACTS: Record<string, RegExp> = {
  psql: SQL,
  sqlite3: SQL,
  sqlite: SQL,
  ssh: /^[ \t]*(?:match|include|\w+(?:command|provider)|xauthlocation)\b/im,
  sftp: /[^]/,
};

/**
 * `import sys; print("a", 1 + 2, sys.version)`. The code must not fail, because Python then loads
 * modules, and it looks for them in the current folder first.
 */
const PYTHON = (() => {
  const text = String.raw`(?:'(?:[^'\\\n]|\\[nt\\])*'|"(?:[^"\\\n]|\\[nt\\])*")`;
  const number = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?`;
  const flat = String.raw`${number}(?: ?[-+*] ?${number})*`;
  const sum = String.raw`(?:${flat}|\(${flat}\))(?: ?[-+*] ?(?:${number}|\(${flat}\)))*`;
  const value = (extra: string) => `(?:${text}|${sum}${extra})`;
  const prints = (extra: string) => {
    const one = String.raw`print\((?:${value(extra)}(?:, ?${value(extra)})*)?\)`;
    return String.raw`${one}(?:[;\n] ?${one})*`;
  };
  const sys = String.raw`|sys\.(?:version|platform|executable|maxsize|byteorder|version_info)`;
  return new RegExp(String.raw`^\s*(?:${prints("")}|import sys[;\n] ?${prints(sys)})[;\s]*$`);
})();

const listed = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const NODE_WORDS = listed(
  "console process Math JSON Number String Array Date BigInt parseInt parseFloat isNaN isFinite Infinity NaN " +
    "undefined null true false typeof new const let if else return",
);
const NODE_MEMBERS = listed(
  "log error table version versions node v8 platform arch uptime length map filter reduce join split slice sort " +
    "reverse includes indexOf toFixed toString toUpperCase toLowerCase trim padStart padEnd repeat stringify parse " +
    "floor ceil round sqrt pow max min abs random PI E now toISOString getTime isInteger MAX_SAFE_INTEGER isArray concat",
);
/**
 * Names that code may give itself. Whatever declares them, and wherever: no global of Node has such a
 * name, so outside their scope they name nothing.
 */
const NODE_OWN = listed(
  "acc sum total prev cur curr next item items key val value values el elem idx index line lines word words char " +
    "chars num nums count res result results out arr list str text data left right one other",
);

/**
 * Words of a closed list; a member by a computed name, a template and an escape may be anything. So
 * may a member that a pattern takes apart (`{mainModule: m} = process`), and `process` as a whole has
 * the environment.
 */
function isComputingNode(code: string): boolean {
  const bare = code.replace(/'(?:[^'\\\n]|\\[nt])*'|"(?:[^"\\\n]|\\[nt])*"/g, '""');
  if (/['"]/.test(bare.replaceAll('""', "")) || /[`\\#@/]|[\w)\]}"']\s*\[|\?\./.test(bare)) {
    return false;
  }
  const takesApart = /(?<!(?:\)|=>|\belse)\s*)\{/.test(bare) && bare.includes("=");
  if (takesApart || /\bprocess\b(?!\s*\.)/.test(bare)) return false;
  const isOwn = (word: string) => /^[a-z]$/.test(word) || NODE_OWN.has(word);
  return [...bare.matchAll(/(\b(?:const|let)\s+|\.\s*)?([A-Za-z_$][\w$]*)/g)].every(
    ([, before = "", word]) => {
      if (before.startsWith(".")) return NODE_MEMBERS.has(word!);
      return isOwn(word!) || (before === "" && NODE_WORDS.has(word!));
    },
  );
}

/** The place of a builtin in its pipeline. */
export interface Place {
  /** Another program or a file gets its output. */
  is_read: boolean;
  /** It runs beside other commands. */
  is_piped: boolean;
}

/**
 * Why a builtin may mean something else in one of the shells; null if it means the same in all.
 * The words are those after its name.
 */
export function whyNotSame(name: string, words: readonly string[], place: Place): string | null {
  const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
  if (!check) return `"${name}", which shells interpret themselves`;
  return check(words, place) ? null : `the words after "${name}", which shells read differently`;
}

type Check = (words: readonly string[], place: Place) => boolean;

const CHECKS: Record<string, Check> = {
  exit: (words, { is_piped }) => !is_piped && words.length < 2 && words.every(isStatus),
  ":": () => true,
  true: () => true,
  false: () => true,
  pwd: (words) => words.length === 0 || (words.length === 1 && /^-[LP]$/.test(words[0]!)),
  echo: isPlainEcho,
  printf: isPlainPrintf,
  test: isPlainTest,
  "[": (words) => words.at(-1) === "]" && isPlainTest(words.slice(0, -1)),
  command: ([option, ...names]) => option === "-v" && names.length === 1 && names.every(isName),
  type: (words) => words.length > 0 && words.every(isName),
  which: (words) => words.length > 0 && words.every(isName),
};

function isStatus(word: string): boolean {
  return /^\d{1,2}$/.test(word);
}

function isName(word: string): boolean {
  return /^[A-Za-z0-9_][\w.+-]*$/.test(word);
}

/** The shells differ in options and in backslashes; that matters only to who reads the output. */
function isPlainEcho(words: readonly string[], { is_read }: Place): boolean {
  if (!is_read) return true;
  const rest = words[0] === "-n" ? words.slice(1) : words;
  return !rest[0]?.startsWith("-") && !rest.some((word) => word.includes("\\"));
}

/** Literal text, `%s` and numbers. `%n` sets a variable, and zsh calculates what `%d` gets. */
function isPlainPrintf([format = "-", ...words]: readonly string[]): boolean {
  if (format.startsWith("-")) return false;
  const rest = format.replace(/%%|\\[nrt\\]/g, "");
  const conversions = rest.match(/%/g)?.length ?? 0;
  const known = rest.match(/%(-?\d{1,4})?[sdi]/g) ?? [];
  if (rest.includes("\\") || known.length !== conversions) return false;
  if (known.some((one) => /\d/.test(one)) && words.some((word) => /[^ -~]/.test(word))) {
    return false;
  }
  return known.every((one) => one.endsWith("s")) ||
    words.every((word) => /^-?\d{1,15}$/.test(word));
}

const UNARY = /^-[bcdefghkprsuwxzLNOSn]$/;
const INTEGER = /^-?\d{1,15}$/;

/** One question. zsh calculates what it compares as numbers, and `-v` in bash does too. */
function isPlainTest(words: readonly string[]): boolean {
  const [first = "", second = "", third = ""] = words;
  if (first === "!" && words.length > 2) return isPlainTest(words.slice(1));
  if (words.length === 2) return UNARY.test(first);
  if (words.length !== 3 || /^[-!(]/.test(first)) return false;
  if (/^(=|!=)$/.test(second)) return true;
  return /^-(eq|ne|lt|le|gt|ge)$/.test(second) && INTEGER.test(first) && INTEGER.test(third);
}

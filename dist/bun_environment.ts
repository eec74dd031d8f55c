/**
 * The variables by which Bun 1.4 loads code, becomes another program, opens a debugger, writes a
 * file or takes over a descriptor. The build fails when a copy of Bun does not contain one of them.
 */
const EXPECTED = [
  "BUN_BE_BUN",
  "BUN_BYTECODE_DIGEST_OUT",
  "BUN_BYTECODE_ORDER_OUT",
  "BUN_FEATURE_FLAG_NO_ORPHANS",
  "BUN_INSPECT",
  "BUN_INSPECT_CONNECT_TO",
  "BUN_INSPECT_PRELOAD",
  "BUN_OPTIONS",
  "BUN_RUNTIME_TRANSPILER_CACHE_PATH",
  "NODE_CHANNEL_FD",
  "NODE_COMPILE_CACHE",
];

/**
 * A variable of Bun, as a C string or in a pool of strings that follow each other without a
 * separator. The characters before it tell a name from JavaScript sources and messages.
 */
const BUN_NAME = /(?<![\s."'`$(\[{_-])BUN_(?=[A-Z]{2})(?!FFI_|WORKER_)/g;
/** A variable of Node or of Bun's engine, as a whole C string. Certificates and NODE_ENV stay. */
const OTHER_NAME = /(?<=\0)(?:JSC_[A-Za-z]+|NODE_(?!ENV\0|EXTRA_CA_CERTS\0)[A-Z_]+)(?=\0)/g;

/**
 * Returns a copy of Bun that reads no variable of its own from the environment, so that nothing in
 * the environment loads code into gate or starts something else in its place.
 *
 * The first byte of each name becomes NUL. No environment can hold such a name: a C string ends
 * there, and Bun's own comparisons never match a NUL. A `=` would not do, because `getenv` finds
 * `BUN=OPTIONS` in a variable `BUN` with the value `OPTIONS=…`.
 * @throws Error when an expected name is missing or stays, or when Bun's check for `BUN_JSC_` is
 * not found exactly once
 */
export function withoutOwnVariables(bun: Uint8Array): Uint8Array {
  const changed = Buffer.from(bun);
  const text = changed.toString("latin1");
  for (const names of [BUN_NAME, OTHER_NAME]) {
    for (const { index } of text.matchAll(names)) changed[index] = 0;
  }
  const left = changed.toString("latin1");
  for (const name of EXPECTED) {
    if (text.includes(`${name}\0`) && !left.includes(`${name}\0`)) continue;
    throw new Error(`Cannot make Bun ignore "${name}": Bun has changed; read its sources`);
  }
  ignoreEngineOptions(changed, text);
  return changed;
}

/**
 * Bun compares the start of each variable with `BUN_JSC_` letter by letter, in machine code.
 * The second comparison is changed to read the first letter again: no letter is both B and U.
 */
function ignoreEngineOptions(bun: Buffer, text: string): void {
  const places = [...findOnX64(text), ...findOnArm64(bun)];
  if (places.length !== 1) {
    throw new Error(
      `Cannot make Bun ignore "BUN_JSC_": Bun has ${places.length} such checks; read its sources`,
    );
  }
  const { at, word } = places[0]!;
  bun.writeUInt32LE(word, at);
}

/** A word of machine code to write. */
interface Patch {
  at: number;
  word: number;
}

/** Finds `cmp byte [r], 'B'; jne; cmp byte [r+1], 'U'; jne; …`. */
function findOnX64(text: string): Patch[] {
  const rest = [..."N_JSC_"].map((letter, index) => x64Compare(index + 2, letter)).join("");
  const check = new RegExp(`(\\x80[\\x38-\\x3f]Bu[^]\\x41?)${x64Compare(1, "U")}${rest}`, "g");
  return [...text.matchAll(check)].map((match) => {
    const at = match.index + match[1]!.length;
    // The displacement is the third of the four bytes.
    return { at, word: Buffer.from(text.slice(at, at + 4), "latin1").readUInt32LE() & ~0xff0000 };
  });
}

/** One comparison of a byte, its jump, and the prefix of the next comparison. */
function x64Compare(offset: number, letter: string): string {
  return `\\x80[\\x78-\\x7f]\\x0${offset}${letter}u[^]\\x41?`;
}

const LOAD_BYTE = 0x39400000;
const COMPARE = 0x7100001f;
/** The words of one comparison: `ldrb w, [x, #offset]; cmp w, #letter; b.ne`. */
const STEP = 3;

function findOnArm64(bun: Buffer): Patch[] {
  const words = new Uint32Array(bun.buffer, bun.byteOffset, bun.length >> 2);
  const found: Patch[] = [];
  for (let at = 0; at < words.length; at++) {
    if (!comparesWith(words, at, 0, "B")) continue;
    if (![..."BUN_JSC_"].every((letter, i) => comparesWith(words, at + i * STEP, i, letter))) {
      continue;
    }
    const load = at + STEP;
    found.push({ at: load * 4, word: (words[load]! & ~(0xfff << 10)) >>> 0 });
  }
  return found;
}

function comparesWith(words: Uint32Array, at: number, offset: number, letter: string): boolean {
  const compare = words[at + 1]!;
  if (((compare & 0xffc0001f) >>> 0) !== COMPARE) return false;
  if (((compare >>> 10) & 0xfff) !== letter.charCodeAt(0)) return false;
  const load = words[at]!;
  return ((load & 0xffc00000) >>> 0) === LOAD_BYTE && ((load >>> 10) & 0xfff) === offset;
}

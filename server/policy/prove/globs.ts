/** One name in a folder, and what it is. */
interface Entry {
  name: string;
  kind: "file" | "folder" | "link";
}

/** The entries of a folder, empty if there is none; null if they are too many or unreadable. */
export type ListFolder = (folder: string) => readonly Entry[] | null;

/** Stands for an unquoted `*`; no text that can be proved contains it. */
export const STAR = "\0";

const LIMITS = { names: 4_000, files: 400, stars: 16 } as const;

/** The words that a glob becomes, and whether every shell lists them in this order. */
export interface Found {
  words: string[];
  is_ordered: boolean;
}

/**
 * The words that a glob becomes in a folder, or why they are not certain. `*` is the only glob here,
 * because the shells differ in all others.
 */
export function expandGlob(glob: string, folder: string, list?: ListFolder): Found | string {
  const segments = glob.split("/");
  if (glob.split(STAR).length > LIMITS.stars) return "a glob of very many stars";
  if (glob.includes("//") || !segments.every(isPlain)) {
    return "a glob that shells read differently";
  }
  if (!list) return { words: [written(glob)], is_ordered: true };
  const found = walk(segments, folder, list);
  if (found === null) return "a glob over unreadable or very many files";
  // bash and dash keep such a word, zsh and fish refuse the command.
  if (found.length === 0) return { words: [written(glob)], is_ordered: true };
  if (found.some((word) => /^-|[^\P{C}]/u.test(word))) {
    return "a glob that finds a name with unusual characters";
  }
  return { words: found.toSorted(byBytes), is_ordered: isOrdered(found) };
}

/** A glob as it is written. */
export function written(glob: string): string {
  return glob.replaceAll(STAR, "*");
}

/** `**` and `.*` find different files in different shells. */
function isPlain(segment: string): boolean {
  return !segment.includes(STAR + STAR) && !/^\.{1,2}\0/.test(segment);
}

/** The existing paths; null if they are too many or a folder cannot be read. */
function walk(segments: readonly string[], folder: string, list: ListFolder): string[] | null {
  const first = segments.findIndex((segment) => segment.includes(STAR));
  const end = segments.at(-1) === "" ? "/" : "";
  const steps = segments.slice(first, end ? -1 : undefined);
  let found = [segments.slice(0, first).map((segment) => `${segment}/`).join("")];
  let looked = 0;
  for (const [at, step] of steps.entries()) {
    const is_last = at === steps.length - 1;
    const test = testOf(step);
    const next: string[] = [];
    for (const start of found) {
      const entries = list(start.startsWith("/") ? start : `${folder}/${start}`);
      if (entries === null || (looked += entries.length) > LIMITS.names) return null;
      const fits = entries.filter(({ name }) => test(name));
      // Only the disk knows whether a link leads to a folder.
      if (is_last && end && fits.some(({ kind }) => kind === "link")) return null;
      const kept = is_last && end ? fits.filter(({ kind }) => kind === "folder") : fits;
      next.push(...kept.map(({ name }) => start + name + (is_last ? end : "/")));
      if (next.length > LIMITS.files) return null;
    }
    found = next;
  }
  return found;
}

/** A test of one text; a star at the start does not match a dot. */
export function testOf(segment: string): (name: string) => boolean {
  const [head = "", ...rest] = segment.split(STAR);
  const tail = rest.pop();
  if (tail === undefined) return (name) => name === segment;
  return (name) => {
    if (head === "" && name.startsWith(".")) return false;
    const last = name.length - tail.length;
    if (!name.startsWith(head) || !name.endsWith(tail) || last < head.length) return false;
    let at = head.length;
    for (const part of rest) {
      const place = name.indexOf(part, at);
      if (place === -1 || place + part.length > last) return false;
      at = place + part.length;
    }
    return true;
  };
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const ORDERS = [
  new Intl.Collator("en"),
  new Intl.Collator("en", { ignorePunctuation: true }),
  new Intl.Collator("en", { numeric: true }),
];

/** Whether the orders of all shells and languages agree: by bytes, by letters, by numbers. */
function isOrdered(words: readonly string[]): boolean {
  const sorted = words.toSorted(byBytes);
  return sorted.every((word, at) =>
    at === 0 || ORDERS.every((order) => order.compare(sorted[at - 1]!, word) < 0)
  );
}

import type { Use } from "../actions/submit/native.ts";
import { patchMark } from "../policy/programs/patch_marks.ts";

/** One file of a patch, with the lines that change it. */
interface Section {
  op: "Add" | "Update" | "Delete";
  path: string;
  to: string | null;
  body: string[];
}

/**
 * The uses of a patch in the format of Codex. Each line that any reader could take for a file name
 * counts as one, so policy evaluates every file that is written. @throws Error without a file, and
 * for a line that Codex does not know
 */
export function patchUses(patch: string): Use[] {
  const sections = sectionsOf(patch);
  if (sections.length === 0) throw new Error("its patch names no file");
  return sections.flatMap(useOf);
}

function sectionsOf(patch: string): Section[] {
  const sections: Section[] = [];
  for (const line of patch.split(/\r?\n/)) {
    const mark = patchMark(line);
    const last = sections.at(-1);
    if (mark === null) last?.body.push(line);
    else if (mark.kind !== "Move to") {
      const op = mark.kind.split(" ")[0] as Section["op"];
      sections.push({ op, path: mark.path, to: null, body: [] });
    } else if (last) last.to = mark.path;
    else throw new Error("its patch moves nothing");
  }
  return sections;
}

function useOf({ op, path, to, body }: Section): Use[] {
  if (op === "Delete") return [{ is: "delete", path }];
  const make = op === "Add" ? () => added(body) : (old: string | null) => updated(old, body);
  const target = to ?? path;
  const write: Use = { is: "write", path: target, from: path, make };
  return to === null ? [write] : [write, { is: "delete", path }];
}

function added(body: string[]): string | null {
  const lines = withoutEnd(body);
  if (!lines.every((line) => line.startsWith("+"))) return null;
  return lines.map((line) => `${line.slice(1)}\n`).join("");
}

/** The most line comparisons for one file of a patch. */
const MAX_COMPARED = 5_000_000;

/** The text with every hunk applied; null when a hunk does not match. */
function updated(old: string | null, body: string[]): string | null {
  if (old === null) return null;
  const lines = new Lines(old.replace(/\n$/, "").split("\n"));
  const made: string[][] = [];
  for (const { context, hunk } of hunksOf(withoutEnd(body))) {
    const from = hunk.filter((line) => !line.startsWith("+")).map((line) => line.slice(1));
    const to = hunk.filter((line) => !line.startsWith("-")).map((line) => line.slice(1));
    const kept = lines.takeBefore(context, from);
    if (kept === null) return null;
    made.push(kept, to);
  }
  return `${[...made, lines.takeRest()].flat().join("\n")}\n`;
}

/** The lines of a file, consumed in order. */
class Lines {
  readonly #lines: string[];
  #at = 0;
  #compared = 0;

  constructor(lines: string[]) {
    this.#lines = lines;
  }

  /** Consumes the wanted lines and returns the lines before them; null when they do not follow. */
  takeBefore(context: string, wanted: string[]): string[] | null {
    const begin = this.#at;
    if (context !== "") {
      const found = this.#find((line) => line.trim() === context);
      if (found < 0) return null;
      this.#at = found + 1;
    }
    const start = wanted.length === 0 ? this.#lines.length : this.#findAll(wanted);
    if (start < 0) return null;
    this.#at = start + wanted.length;
    return this.#lines.slice(begin, start);
  }

  takeRest(): string[] {
    return this.#lines.slice(this.#at);
  }

  #find(is: (line: string) => boolean): number {
    for (let at = this.#at; at < this.#lines.length; at++) {
      if (is(this.#lines[at]!)) return at;
    }
    return -1;
  }

  #findAll(wanted: string[]): number {
    for (let at = this.#at; at + wanted.length <= this.#lines.length; at++) {
      const differs = wanted.findIndex((line, i) => this.#lines[at + i] !== line);
      if (differs < 0) return at;
      this.#compared += differs + 1;
      if (this.#compared > MAX_COMPARED) return -1;
    }
    return -1;
  }
}

function hunksOf(body: string[]): { context: string; hunk: string[] }[] {
  const hunks: { context: string; hunk: string[] }[] = [];
  for (const line of body) {
    if (line.startsWith("@@")) hunks.push({ context: line.slice(2).trim(), hunk: [] });
    else {
      if (hunks.length === 0) hunks.push({ context: "", hunk: [] });
      hunks.at(-1)!.hunk.push(line === "" ? " " : line);
    }
  }
  return hunks;
}

function withoutEnd(body: string[]): string[] {
  const end = body.findIndex((line) => /^\*\*\* End Patch/.test(line.trim()));
  return (end < 0 ? body : body.slice(0, end)).filter((line) => line.trim() !== "*** End of File");
}

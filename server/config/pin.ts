import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { writeWhole } from "../runtime/small_file.ts";

/** A config's text as it was once; null where only its hash was kept. */
const Version = z.object({ sha256: z.string(), text: z.string().nullable() });
type Version = z.infer<typeof Version>;

const PinnedFile = z.object({
  /** What the gate saw last. */
  seen: Version,
  /** What came through the gate, or what a person has looked at since. */
  accepted: Version,
  changed_at: z.string().nullable(),
});
type PinnedFile = z.infer<typeof PinnedFile>;

/** What was pinned before is a bare hash. */
const Pins = z.record(
  z.string(),
  z.union([PinnedFile, z.string().transform((sha256) => startOf({ sha256, text: null }))]),
);

/** A config that is not what a person last accepted. */
export interface OutsideVersion {
  at: string;
  before: Version;
  after: Version;
}

/** SHA-256 of a config's text; null without one. */
export function hashOf(text: string): string | null {
  return text === "" ? null : createHash("sha256").update(text).digest("hex");
}

/**
 * What the config files were when the gate last looked: a change that did not come through the gate
 * is seen even if it was made while the gate was not running, and stays until a person accepts it.
 */
export class Pin {
  readonly #path: string;
  #pins: Record<string, PinnedFile> | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Remembers a file's text; the hash it had before when it was another one, undefined when it is
   * new or the same.
   */
  note(
    file: string,
    text: string,
    how: { through_gate: boolean; at: string },
  ): string | null | undefined {
    const pins = this.#read();
    const known = Object.hasOwn(pins, file) ? pins[file]! : undefined;
    const now: Version = { sha256: hashOf(text) ?? "", text };
    if (known?.seen.sha256 === now.sha256) {
      if (known.seen.text === null) this.#write(file, { ...known, seen: now });
      return undefined;
    }
    this.#write(file, known ? next(known, now, how) : startOf(now));
    return known === undefined ? undefined : known.seen.sha256 || null;
  }

  /** What of a file nobody has accepted yet; null when all of it is. */
  outside(file: string): OutsideVersion | null {
    const pins = this.#read();
    const known = Object.hasOwn(pins, file) ? pins[file]! : undefined;
    if (!known || known.changed_at === null) return null;
    return { at: known.changed_at, before: known.accepted, after: known.seen };
  }

  /** A person has looked at the file as it is; false when it is another one by now. */
  accept(file: string, sha256: string): boolean {
    const outside = this.outside(file);
    if (outside === null || outside.after.sha256 !== sha256) return false;
    this.#write(file, startOf(outside.after));
    return true;
  }

  #write(file: string, pinned: PinnedFile): void {
    const pins = this.#read();
    pins[file] = pinned;
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    writeWhole(this.#path, `${JSON.stringify(pins, null, 2)}\n`, 0o600);
  }

  #read(): Record<string, PinnedFile> {
    if (this.#pins) return this.#pins;
    try {
      this.#pins = Pins.parse(JSON.parse(readFileSync(this.#path, "utf8")));
    } catch {
      this.#pins = {};
    }
    return this.#pins;
  }
}

function startOf(version: Version): PinnedFile {
  return { seen: version, accepted: version, changed_at: null };
}

/** What is changed through the gate is accepted, unless something that was not lies below it. */
function next(
  known: PinnedFile,
  now: Version,
  { through_gate, at }: { through_gate: boolean; at: string },
): PinnedFile {
  const isClean = known.changed_at === null;
  if ((through_gate && isClean) || known.accepted.sha256 === now.sha256) return startOf(now);
  return { ...known, seen: now, changed_at: known.changed_at ?? at };
}

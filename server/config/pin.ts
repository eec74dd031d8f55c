import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { writeWhole } from "../runtime/small_file.ts";

/** One version of a config's text. The text is null when only its hash was kept. */
const Version = z.object({ sha256: z.string(), text: z.string().nullable() });
type Version = z.infer<typeof Version>;

const PinnedFile = z.object({
  /** The version that the gate read last. */
  seen: Version,
  /** The version that the gate wrote or a person accepted last. */
  accepted: Version,
  changed_at: z.string().nullable(),
});
type PinnedFile = z.infer<typeof PinnedFile>;

/** An older version of the gate stored only hashes. */
const Pins = z.record(
  z.string(),
  z.union([PinnedFile, z.string().transform((sha256) => startOf({ sha256, text: null }))]),
);

/** A config that differs from the accepted version. */
export interface OutsideVersion {
  at: string;
  before: Version;
  after: Version;
}

/** The SHA-256 of a config's text; null for an empty text. */
export function hashOf(text: string): string | null {
  return text === "" ? null : createHash("sha256").update(text).digest("hex");
}

/**
 * Records each config file as the gate last read it. This reveals a change outside the gate, even
 * one made while the gate was not running. The change stays until a person accepts it.
 */
export class Pin {
  readonly #path: string;
  #pins: Record<string, PinnedFile> | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Records a file's text. Returns the hash of the previous text (null when it was empty), or
   * undefined when the file is new or unchanged.
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

  /** The change that nobody has accepted yet; null when there is none. */
  outside(file: string): OutsideVersion | null {
    const pins = this.#read();
    const known = Object.hasOwn(pins, file) ? pins[file]! : undefined;
    if (!known || known.changed_at === null) return null;
    return { at: known.changed_at, before: known.accepted, after: known.seen };
  }

  /** Accepts the current version. Returns false when its hash is another one. */
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

/** Accepts a change through the gate, unless an earlier change outside it is still open. */
function next(
  known: PinnedFile,
  now: Version,
  { through_gate, at }: { through_gate: boolean; at: string },
): PinnedFile {
  const isClean = known.changed_at === null;
  if ((through_gate && isClean) || known.accepted.sha256 === now.sha256) return startOf(now);
  return { ...known, seen: now, changed_at: known.changed_at ?? at };
}

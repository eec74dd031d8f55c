/** The names in an index of git. */
export interface IndexNames {
  /** Files, relative to the top folder of the repository. */
  files: string[];
  /** Folders of a sparse index whose files are not listed. */
  folders: string[];
  /** Folders of submodules. */
  modules: string[];
  /** The name of the file with more entries (`sharedindex.…`); null if there is none. */
  shared: string | null;
}

/**
 * The names in the bytes of an index, version 2 to 4, with hashes of SHA-1 or SHA-256. Null for
 * bytes that git would not read in the same way, and for more names than gate keeps.
 */
export function parseIndex(bytes: Uint8Array): IndexNames | null {
  for (const hash of [20, 32]) {
    try {
      return new IndexReader(bytes, hash).read();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return null;
}

const SIGNATURE = "DIRC";
/** The fields of an entry before its hash: times, device, inode, mode, owner, size. */
const STAT_BYTES = 40;
const MODE_AT = 24;
const KIND_MASK = 0o170000;
const FOLDER = 0o040000;
const MODULE = 0o160000;
const LENGTH_MASK = 0x0fff;
const IS_EXTENDED = 0x4000;
const NUL = 0;
/**
 * A few bytes of version 4 can stand for a long name, so a small index could fill the memory. Git
 * itself checks out no longer path.
 */
const LIMITS = { name: 4_096, all_names: 64 * 1024 * 1024 } as const;

class IndexReader {
  readonly #view: DataView;
  readonly #names: IndexNames = { files: [], folders: [], modules: [], shared: null };
  #at = 0;
  #previous: Uint8Array = new Uint8Array();
  #name_bytes = 0;

  constructor(readonly bytes: Uint8Array, readonly hash: number) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** @throws RangeError if the bytes are no index with hashes of this length, or the names are too long */
  read(): IndexNames {
    expect(ascii(this.bytes, 0, 4) === SIGNATURE);
    const version = this.#view.getUint32(4);
    expect(version >= 2 && version <= 4);
    const count = this.#view.getUint32(8);
    this.#at = 12;
    for (let left = count; left > 0; left--) this.#readEntry(version);
    this.#readExtensions();
    return this.#names;
  }

  #readEntry(version: number): void {
    const start = this.#at;
    const kind = this.#view.getUint32(start + MODE_AT) & KIND_MASK;
    const flags = this.#view.getUint16(start + STAT_BYTES + this.hash);
    expect(version > 2 || (flags & IS_EXTENDED) === 0);
    this.#at = start + STAT_BYTES + this.hash + ((flags & IS_EXTENDED) !== 0 ? 4 : 2);
    const name = version === 4 ? this.#readShortened() : this.#readName(start);
    expect((flags & LENGTH_MASK) === Math.min(name.length, LENGTH_MASK));
    this.#previous = name;
    this.#name_bytes += name.length;
    expect(name.length <= LIMITS.name && this.#name_bytes <= LIMITS.all_names);
    // An entry that only replaces one of the shared index has no name.
    if (name.length > 0) this.#add(new TextDecoder().decode(name), kind);
  }

  #add(name: string, kind: number): void {
    const { files, folders, modules } = this.#names;
    if (kind === FOLDER) folders.push(name.replace(/\/$/, ""));
    else if (kind === MODULE) modules.push(name);
    // A file with a conflict has up to three entries.
    else if (files.at(-1) !== name) files.push(name);
  }

  /** A name up to a NUL; then NULs up to a multiple of eight bytes. */
  #readName(start: number): Uint8Array {
    const end = this.#endOfName();
    const name = this.bytes.subarray(this.#at, end);
    const padded = start + Math.ceil((end + 1 - start) / 8) * 8;
    for (let at = end; at < padded; at++) expect(this.bytes[at] === NUL);
    this.#at = padded;
    return name;
  }

  /** How many bytes of the name before are dropped, and what follows the rest of it. */
  #readShortened(): Uint8Array {
    const dropped = this.#readNumber();
    expect(dropped <= this.#previous.length);
    const end = this.#endOfName();
    const kept = this.#previous.length - dropped;
    const name = new Uint8Array(kept + end - this.#at);
    name.set(this.#previous.subarray(0, kept));
    name.set(this.bytes.subarray(this.#at, end), kept);
    this.#at = end + 1;
    return name;
  }

  #readNumber(): number {
    let byte = this.#view.getUint8(this.#at++);
    let value = byte & 0x7f;
    while (byte & 0x80) {
      byte = this.#view.getUint8(this.#at++);
      value = (value + 1) * 128 + (byte & 0x7f);
      expect(value <= this.bytes.length);
    }
    return value;
  }

  #endOfName(): number {
    const end = this.bytes.indexOf(NUL, this.#at);
    expect(end >= 0 && end < this.bytes.length - this.hash);
    return end;
  }

  /** Reads up to the hash at the end. An unknown extension whose name is not in capitals is an error. */
  #readExtensions(): void {
    const end = this.bytes.length - this.hash;
    while (this.#at < end) {
      const name = ascii(this.bytes, this.#at, this.#at + 4);
      const length = this.#view.getUint32(this.#at + 4);
      const content = this.#at + 8;
      this.#at = content + length;
      expect(/^[A-Z]/.test(name) || name === "link" || name === "sdir");
      if (name === "link") this.#names.shared = this.#sharedName(content);
    }
    expect(this.#at === end);
  }

  /** A hash of zeros means that there is no shared index. */
  #sharedName(at: number): string | null {
    const hex = [...this.bytes.subarray(at, at + this.hash)]
      .map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return /^0*$/.test(hex) ? null : `sharedindex.${hex}`;
  }
}

function ascii(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCharCode(...bytes.subarray(from, to));
}

function expect(isTrue: boolean): void {
  if (!isTrue) throw new RangeError("these bytes are no index of git");
}

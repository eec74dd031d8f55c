import { basename, dirname } from "node:path";
import { type FileImage, readImage, regularOrNothing } from "./file_image.ts";
import { openFolder } from "./folder.ts";

/** A smaller file is read as fast as anything could be remembered of it. */
const WORTH = 1024 * 1024;
const MOST = 64;
/** A file that has just changed may change again without its times showing it. */
const SETTLED_MS = 2_000;

/** What a file shows without being read; a new content changes at least `changed`. */
interface Sign {
  size: number;
  sign: string;
  changed: number;
}

export interface SeenFilesOptions {
  read?: typeof readImage;
  now?: () => number;
}

/**
 * Looks at files for those who only want to know how things stand: a large one that shows no sign
 * of a change is not read again. Nothing may be decided or written on such a look.
 */
export class SeenFiles {
  readonly #read: typeof readImage;
  readonly #now: () => number;
  readonly #seen = new Map<string, { sign: string; image: FileImage }>();

  constructor({ read = readImage, now = Date.now }: SeenFilesOptions = {}) {
    this.#read = read;
    this.#now = now;
  }

  /** As `readImage`. @throws GateError for what is no regular file */
  async look(path: string, keep: number): Promise<FileImage | null> {
    const before = signOf(path);
    if (!before || before.size <= Math.max(keep, WORTH)) return await this.#read(path, keep);
    const known = this.#seen.get(path);
    if (known?.sign === before.sign) return known.image;
    this.#seen.delete(path);
    const image = await this.#read(path, keep);
    const isSettled = this.#now() - before.changed > SETTLED_MS;
    if (image && isSettled && signOf(path)?.sign === before.sign) this.#keep(path, before, image);
    return image;
  }

  #keep(path: string, { sign }: Sign, { sha256, bytes, mode }: FileImage): void {
    this.#seen.set(path, { sign, image: { sha256, bytes, mode, content: null } });
    if (this.#seen.size > MOST) this.#seen.delete(this.#seen.keys().next().value!);
  }
}

/** Null where there is nothing to be seen: reading it says why. */
function signOf(path: string): Sign | null {
  try {
    const { folder } = openFolder(dirname(path));
    try {
      const found = regularOrNothing(folder, basename(path));
      if (!found) return null;
      const { dev, ino, size, mode, mtimeMs, ctimeMs } = found;
      const sign = [dev, ino, size, mode, mtimeMs, ctimeMs].join(" ");
      return { size, sign, changed: Math.max(mtimeMs, ctimeMs) };
    } finally {
      folder.close();
    }
  } catch {
    return null;
  }
}

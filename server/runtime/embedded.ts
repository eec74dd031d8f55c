/** What an executable carries inside itself; the build puts a filled-in copy in place of this file. */
export interface Embedded {
  /** Each file of the dashboard by its URL path. */
  assets: Record<string, EmbeddedFile>;
  /** The database's native library for this machine. */
  library: { file: string; sha256: string };
}

export interface EmbeddedFile {
  /** Where the bytes can be read from inside the executable. */
  file: string;
  sha256: string;
}

/** `null` when the program runs from its sources or as a bundle on Node. */
export const EMBEDDED: Embedded | null = null as Embedded | null;

/** Whether these lines run out of the one-file bundle for Node. */
export const IS_BUNDLE: boolean = false as boolean;

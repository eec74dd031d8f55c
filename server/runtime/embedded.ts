/** The files inside an executable. The build replaces this file by one with the real values. */
export interface Embedded {
  /** Each file of the dashboard by its URL path. */
  assets: Record<string, EmbeddedFile>;
  /** The database's native library for this machine. */
  library: { file: string; sha256: string };
}

export interface EmbeddedFile {
  /** The path inside the executable. */
  file: string;
  sha256: string;
}

/** Null when the program runs from its sources or from the bundle for Node. */
export const EMBEDDED: Embedded | null = null as Embedded | null;

/** True in the one-file bundle for Node. */
export const IS_BUNDLE: boolean = false as boolean;

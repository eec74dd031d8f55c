import { readSmallFile } from "../runtime/small_file.ts";
import { resolvePath } from "../runtime/real_path.ts";

const MAX_BYTES = 65_536;

/**
 * The text of a file inside the project, empty if there is none. Null if it is elsewhere, not UTF-8,
 * or longer than 64 KB.
 */
export function projectText(path: string, roots: readonly string[]): string | null {
  try {
    const { real } = resolvePath(path);
    if (!roots.some((root) => real.startsWith(`${root}/`))) return null;
    return readSmallFile(real, MAX_BYTES);
  } catch (error) {
    return (error as { code?: string }).code === "ENOENT" ? "" : null;
  }
}

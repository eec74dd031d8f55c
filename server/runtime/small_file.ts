import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

const { O_RDONLY } = constants;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;

/**
 * The text of a regular file that anybody may have put there: a pipe in its place does not hold us
 * up, and a huge one does not fill the memory. @throws Error, with the system's `code` where it has one
 */
export function readSmallFile(path: string, max_bytes: number): string {
  const fd = openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error(`"${path}" is not a regular file`);
    if (stats.size > max_bytes) throw new Error(`"${path}" is longer than ${max_bytes} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(fd));
  } finally {
    closeSync(fd);
  }
}

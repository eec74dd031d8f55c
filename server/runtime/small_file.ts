import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

const { O_RDONLY } = constants;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;

/**
 * The text of an untrusted regular file of at most `max_bytes`. A pipe does not block the read.
 * @throws Error, with the `code` of a system error
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

import { readFileSync } from "node:fs";

/** A frame of the write-ahead log: its header and one page. */
const FRAME = 24 + 4096;

/** The frames of the log since its last restart. */
export function framesIn(log: string): number {
  const bytes = readFileSync(log);
  const salt = bytes.toString("hex", 16, 24);
  let frames = 0;
  for (let at = 32; at + FRAME <= bytes.length; at += FRAME) {
    if (bytes.toString("hex", at + 8, at + 16) !== salt) break;
    frames++;
  }
  return frames;
}

/** A text that does not compress. */
export function noise(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length * 3 / 4));
  return btoa(String.fromCharCode(...bytes));
}

import { Buffer } from "node:buffer";

/** The words that Bun 1.4 prints when it aborts, before it has run a line of our code. */
const THEIRS = "Bun has crashed. This indicates a bug in Bun, not your code.\n\n" +
  "To send a redacted crash report to Bun's team,\n" +
  "please file a GitHub issue using the link below:\n\n";

/** Bun cannot find itself without /proc, so a root without it is the usual cause. */
const OURS = "this program cannot run here. On Linux it needs /proc:\n" +
  "  mount -t proc proc /proc\n" +
  "If /proc is mounted, this is a bug; the link holds the trace.\n\n";

/**
 * Returns a copy of Bun whose message for a crash says what is usually missing. @throws Error when
 * Bun has no such message
 */
export function withPlainCrash(bun: Uint8Array): Uint8Array {
  const changed = Buffer.from(bun);
  const words = Buffer.from(OURS.trimEnd().padEnd(THEIRS.length - 2) + "\n\n");
  let found = 0;
  for (let at = changed.indexOf(THEIRS); at !== -1; at = changed.indexOf(THEIRS, at + 1)) {
    words.copy(changed, at);
    found++;
  }
  if (found > 0) return changed;
  throw new Error("Cannot replace Bun's message for a crash: Bun has changed; read its sources");
}

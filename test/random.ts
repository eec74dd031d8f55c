/** Numbers that look random and are the same for the same seed (mulberry32). */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296 * below);
  };
}

/** The seed that the environment names (`GATE_SEED`), else a new one; say it, so that a failure can come again. */
export function chooseSeed(env: Record<string, string | undefined>): number {
  return Number(env["GATE_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
}

/** Thrown when comparing would cost more than any honest request. */
export class Exhausted extends Error {}

/** About a millisecond of comparing; everyday decisions take a hundredth of it. */
const MOST_WORK = 1_000_000;

/** Counts the work of one decision, so that no pattern and no text can hold the loop. */
class Meter {
  #left: number = MOST_WORK;

  /** Begins a decision. */
  reset(): void {
    this.#left = MOST_WORK;
  }

  /** @throws Exhausted when the decision has cost too much */
  spend(work: number): void {
    this.#left -= work;
    if (this.#left < 0) {
      throw new Exhausted("comparing it with the patterns of the policy takes too long");
    }
  }
}

/** One for all: a decision is made without a pause, so no two of them share it. */
export const meter = new Meter();

/** Thrown if matching costs more than any honest request needs. */
class Exhausted extends Error {}

/** About one millisecond of matching; everyday decisions need a hundredth of it. */
const MOST_WORK = 1_000_000;

/** Bounds the work of one decision, so that no pattern and no text blocks the event loop. */
class Meter {
  #left: number = MOST_WORK;

  /** Starts a new decision. */
  reset(): void {
    this.#left = MOST_WORK;
  }

  /** @throws Exhausted once the decision has used up its work */
  spend(work: number): void {
    this.#left -= work;
    if (this.#left < 0) {
      throw new Exhausted("matching the patterns of the policy takes too long");
    }
  }
}

/** One meter is enough: a decision never yields, so no two decisions overlap. */
export const meter = new Meter();

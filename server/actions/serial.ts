/** Lets one thing happen at a time, in the order in which they came. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs after everything that came before has ended, however it ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** The time limits of `gate hook`, in milliseconds. */
export interface Deadlines {
  /** After this time it refuses: a host that stops waiting would run the tool. */
  refuse: number;
  /** For a report after a tool, because the daemon can also read the outcome from the files. */
  report: number;
  /** How long one request waits for a person. */
  slice: number;
  /** How much longer a daemon may take to answer, so that a hanging daemon shows. */
  answer: number;
  /** The last answer must arrive this long before the deadline. */
  margin: number;
}

export const DEADLINES: Deadlines = {
  refuse: 270_000,
  report: 10_000,
  slice: 20_000,
  answer: 8_000,
  margin: 2_000,
};

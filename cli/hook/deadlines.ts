/** How long `gate hook` takes its time, in milliseconds. */
export interface Deadlines {
  /** When it refuses by itself: a host that has to stop waiting lets the tool run. */
  refuse: number;
  /** A report is worth no longer wait: the daemon can see in the files what was done. */
  report: number;
  /** How long one question waits for a person. */
  slice: number;
  /** How long a daemon may take beyond that: one that hangs must show. */
  answer: number;
  /** How long before the deadline the last answer has to be there. */
  margin: number;
}

export const DEADLINES: Deadlines = {
  refuse: 270_000,
  report: 10_000,
  slice: 20_000,
  answer: 8_000,
  margin: 2_000,
};

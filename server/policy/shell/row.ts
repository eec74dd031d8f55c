import { type Spec, spec } from "./options.ts";

/** What the operands of a program are to it. */
export type Operands =
  | "none"
  | "reads"
  | "writes"
  | "deletes"
  | "copy"
  | "move"
  | "link"
  /** The first is a pattern or a mode, the rest are read or changed. */
  | "pattern"
  | "mode";

/** One program: its options, what its operands are, and which options name files or code. */
export interface Row {
  grammar: Spec;
  operands: Operands;
  reads: string[];
  writes: string[];
  deletes: string[];
  /** Options whose value is shell code. */
  code: string[];
  /** Options without which the operands are only read. */
  onlyWith: string[];
  /** What it reads is what the files then hold. */
  keeps: boolean;
  /** What it writes is made from sources here, not brought from elsewhere. */
  builds: boolean;
  /** Options with which the files it is told to write are only read. */
  looks: string[];
}

/** One row of the tables: what the operands are, the options as in `spec`. */
export function row(
  operands: Operands,
  options = "",
  { single = false, ...how }: Partial<Row> & { single?: boolean } = {},
): Row {
  const none = {
    reads: [],
    writes: [],
    deletes: [],
    code: [],
    onlyWith: [],
    looks: [],
    keeps: false,
    builds: false,
  };
  return { ...none, ...how, operands, grammar: spec(options, { single }) };
}

import fc from "fast-check";

export const PATHS = ["free/a", "free/b", "free/new/c", "held/a", "held/b"];
export const TIMEOUT_S = 3_600;

const session = fc.nat({ max: 1 });
const path = fc.constantFrom(...PATHS);
const content = fc.constantFrom("", "one", "two", "three\n");
const which = fc.nat({ max: 99 });
const is = <T extends string>(name: T) => fc.constant(name);

/** Commands that touch at most two of the paths. */
const command = fc.record({
  kind: fc.constantFrom("rm", "mv", "cp", "print", "both"),
  from: path,
  to: path,
  content: fc.constantFrom("one", "four"),
});
export type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

const submitted = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: is("write"), session, path, content }) },
  { weight: 2, arbitrary: fc.record({ do: is("edit"), session, path, content }) },
  { weight: 2, arbitrary: fc.record({ do: is("delete"), session, path }) },
  { weight: 2, arbitrary: fc.record({ do: is("move"), session, path, to: path }) },
);
const decided = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: is("approve"), which }) },
  { weight: 1, arbitrary: fc.record({ do: is("reject"), which }) },
  { weight: 1, arbitrary: fc.record({ do: is("cancel"), which }) },
  { weight: 2, arbitrary: fc.record({ do: is("approve_edited"), which, content }) },
);
const undone = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: is("rollback"), which }) },
  { weight: 2, arbitrary: fc.record({ do: is("rollback_session"), session }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: is("rollback_part"),
      session,
      picks: fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 4 }),
    }),
  },
);
const commands = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: is("command"), session, command }) },
  { weight: 4, arbitrary: fc.record({ do: is("run"), which }) },
  { weight: 2, arbitrary: fc.record({ do: is("claim"), which }) },
  { weight: 2, arbitrary: fc.record({ do: is("report"), which }) },
);

const plain = fc.oneof(
  { weight: 10, arbitrary: submitted },
  { weight: 7, arbitrary: decided },
  { weight: 7, arbitrary: undone },
  { weight: 11, arbitrary: commands },
  { weight: 2, arbitrary: fc.record({ do: is("replay"), which }) },
  { weight: 2, arbitrary: fc.record({ do: is("hand"), path, content: fc.option(content) }) },
  { weight: 1, arbitrary: fc.record({ do: is("later"), ms: fc.nat(2_000_000) }) },
  { weight: 1, arbitrary: fc.record({ do: is("restart") }) },
);
/** One step of a history; the gate crashes at its internal step `crash_at`, never when null. */
export const step = fc.oneof(
  { weight: 8, arbitrary: plain.map((one) => ({ ...one, crash_at: null })) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.oneof(submitted, decided, undone), fc.integer({ min: 1, max: 6 }))
      .map(([one, crash_at]) => ({ ...one, crash_at })),
  },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
export type StepOf<Name extends Step["do"]> = Extract<Step, { do: Name }>;

/** The command line for bash. */
export function textOf({ kind, from, to, content }: Command): string {
  if (kind === "rm") return `rm ${from}`;
  if (kind === "mv") return `mv ${from} ${to}`;
  if (kind === "cp") return `cp ${from} ${to}`;
  if (kind === "print") return `printf '%s' '${content}' > ${to}`;
  return `rm ${from}; printf '%s' '${content}' > ${to}`;
}

import { type Client, unwrap } from "../../server/client.ts";
import type { ConfigDifference, ConfigView, OutsideChange } from "../../server/config/schema.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { paint, print } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { memoryPath, readAccepted, writeAccepted } from "../witness/memory.ts";

/** The changes that a person can accept: of files that are there and not broken. */
export function openChanges({ outside_changes, problem }: ConfigView): OutsideChange[] {
  return outside_changes.filter(({ path, after_sha256 }) =>
    after_sha256 !== "" && path !== problem?.path
  );
}

/** The changes of which a part waits for a person. */
export function waitingChanges(view: ConfigView): OutsideChange[] {
  return openChanges(view).filter(({ waiting }) => waiting);
}

/**
 * Accepts these versions of the files, and no later ones. @throws ProblemError; CliError if a number
 * is not one that follows those of this user's terminals
 */
export async function acceptChanges(
  io: Io,
  client: Client,
  changes: readonly OutsideChange[],
): Promise<ConfigView | null> {
  let view: ConfigView | null = null;
  for (const { path, after_sha256: sha256, number } of changes) {
    view = await acceptNumbered(
      io,
      { path, number },
      () => unwrap(client.api.config.accept.$post({ json: { path, sha256, number } })),
    );
  }
  return view;
}

/** More acceptances than any person makes between two of one terminal. */
const MOST_BETWEEN = 10_000;

/**
 * Accepts a config under its number, and remembers the number. The numbers of one config only grow,
 * so that no older version comes back: whoever keeps a signature for a far number, or for one that
 * was used, could use it later. @throws CliError for such a number
 */
export async function acceptNumbered<T>(
  io: Io,
  { path, number }: { path: string; number: number },
  accept: () => Promise<T>,
): Promise<T> {
  const { home } = placeOf(io);
  const known = readAccepted(io, home, path);
  const fault = number <= known
    ? `its number is ${number}, but this user has accepted number ${known} before`
    : number > known + MOST_BETWEEN
    ? `its number is ${number}, but the newest one that this user knows is ${known}`
    : null;
  if (fault !== null) {
    const why = `${fault}; another program may have changed gate's data, or answers in the ` +
      `daemon's place. If you restored older data yourself, delete ${memoryPath(io)}`;
    throw new CliError(`Cannot accept "${path}": ${why}`, { next: "gate audit verify" });
  }
  const accepted = await accept();
  writeAccepted(io, home, { path, number });
  return accepted;
}

const MARKS = { added: ["green", "+"], removed: ["red", "-"], changed: ["yellow", "~"] } as const;

/** The most differences that are in force already, where only a summary is shown. */
const MOST_IN_FORCE = 10;

/**
 * Prints a change with its differences; a mark shows which of them wait. A summary leaves out some
 * of those that are in force without a person, and never one that waits.
 */
export function showChange(
  io: Io,
  change: OutsideChange,
  { problem = null, summary = false }: Partial<Pick<ConfigView, "problem">> & {
    summary?: boolean;
  } = {},
): void {
  const { path, at, differences, waiting, after_sha256 } = change;
  if (after_sha256 === "") return showGone(io, change);
  const isBroken = path === problem?.path;
  const state = isBroken
    ? "broken"
    : waiting
    ? "a part waits for you"
    : "in force, not yet accepted";
  const when = `${at.slice(0, 16).replace("T", " ")}Z`;
  print(io, `${paint(io, "bold", visibleLine(path))}  changed ${when}, ${state}`);
  if (isBroken) return print(io, "  Correct the file; then gate config show shows its changes");
  if (differences === null) return print(io, "  gate cannot compare the versions; read the file");
  const inForce = differences.filter((one) => one.in_force);
  const hidden = new Set(summary ? inForce.slice(MOST_IN_FORCE) : []);
  for (const one of differences) if (!hidden.has(one)) print(io, describe(io, one));
  if (hidden.size > 0) {
    print(io, `  … ${hidden.size} more that are in force already: gate config show`);
  }
}

/** A deleted config takes no rule away, so its differences would mislead. */
function showGone(io: Io, { path, at }: OutsideChange): void {
  const when = `${at.slice(0, 16).replace("T", " ")}Z`;
  print(io, `${paint(io, "bold", visibleLine(path))}  deleted ${when}`);
  print(
    io,
    "  The rules that were accepted last stay in force. Put the file back, or run: gate init",
  );
}

function describe(io: Io, { kind, key, text, in_force }: ConfigDifference): string {
  const [colour, mark] = MARKS[kind];
  const line = `${mark} ${visibleLine(key)}: ${visibleLine(text)}`;
  return `  ${paint(io, colour, line)}${in_force ? "" : "  (waits)"}`;
}

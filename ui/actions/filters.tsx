import type { RefObject } from "preact";
import { Key } from "../parts/button.tsx";
import { Choice } from "../parts/choice.tsx";
import {
  clock,
  dayName,
  offsetHours,
  shifted,
  timeName,
  WEEKDAYS,
  zoneName,
} from "../analytics/hours.ts";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { durationOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";

const STATUSES: Record<string, string> = {
  pending: "Waiting",
  approved: "Approved or allowed",
  rejected: "Rejected",
  blocked: "Blocked",
  expired: "Expired",
  cancelled: "Cancelled",
  rolled_back: "Rolled back",
};

const TOOLS: Record<string, string> = {
  write_file: "Writes",
  edit_file: "Edits",
  delete_file: "Deletions",
  move_file: "Moves",
  read_file: "Reads",
  run_command: "Commands",
  rollback: "Rollbacks",
};

/** Filters that a link of another page sets; the table shows each as a chip. */
const LINKED = [
  "session_id",
  "outcome",
  "risk",
  "execution",
  "decided_by",
  "from",
  "to",
  "decided_from",
  "decided_to",
  "waited_from",
  "waited_to",
  "weekday",
  "hour",
  "rule",
] as const;

/** Every filter of the table. */
export const FILTERS = ["q", "status", "tool", "agent", "path", ...LINKED] as const;

/** The part of an address that chooses the rows of the table. */
export function listOf(query: Record<string, string | undefined>): Record<string, string | null> {
  return Object.fromEntries(
    [...FILTERS, "order", "cursor"].map((name) => [name, query[name] ?? null]),
  );
}

/** The filters of the table; the URL holds their values. */
export function Filters({ inputRef }: { inputRef: RefObject<HTMLInputElement | null> }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <Words
        name="q"
        label="Search"
        placeholder="Path, command or reason"
        inputRef={inputRef}
        keys="/"
      />
      <Choice name="status" label="Status" all="Any status" options={STATUSES} />
      <Choice name="tool" label="Kind" all="Any kind" options={TOOLS} />
      <Words name="path" label="Path" placeholder="Exact path" />
      <Words name="agent" label="Agent" placeholder="Exact agent" />
      {CHIPS.map((chip) => <Chip key={chip.names[0]} {...chip} />)}
    </form>
  );
}

interface WordsProps {
  name: string;
  label: string;
  placeholder: string;
  inputRef?: RefObject<HTMLInputElement | null>;
  keys?: string;
}

/** A filter with words; the URL holds them. */
export function Words({ name, label, placeholder, inputRef, keys }: WordsProps) {
  const address = useAddress();
  return (
    <label class="field">
      <Icon name="search" />
      <span class="visually-hidden">{label}</span>
      <input
        ref={inputRef}
        type="search"
        placeholder={placeholder}
        value={address.query[name] ?? ""}
        onChange={(event) =>
          address.set({ [name]: event.currentTarget.value, cursor: null }, { push: true })}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      {keys && <Key keys={keys} />}
    </label>
  );
}

interface ChipProps {
  names: readonly (typeof LINKED)[number][];
  /** The words for the values of these names; an absent one is undefined. */
  words: (...values: (string | undefined)[]) => string;
}

const CHIPS: ChipProps[] = [
  { names: ["session_id"], words: (id) => `session ${id!.slice(-8)}` },
  { names: ["outcome"], words: (outcome) => outcome! },
  { names: ["risk"], words: (risk) => `${risk} risk` },
  { names: ["execution"], words: (execution) => `execution ${execution}` },
  { names: ["decided_by"], words: (who) => `decided by ${who}` },
  { names: ["from", "to"], words: (from, to) => `submitted ${spanWords(from, to)}` },
  { names: ["decided_from", "decided_to"], words: (from, to) => `decided ${spanWords(from, to)}` },
  { names: ["waited_from", "waited_to"], words: waitWords },
  { names: ["weekday", "hour"], words: hourWords },
  {
    names: ["rule"],
    words: (rule) => rule === "default" ? "no rule" : `rule ${rule!.split("/").slice(2).join("/")}`,
  },
];

/** "since Nov 2, before Nov 3, UTC"; "since Nov 2, 14:05, before Nov 2, 14:10, UTC+1". */
function spanWords(from: string | undefined, to: string | undefined): string {
  const ends = [from && `since ${endWords(from)}`, to && `before ${endWords(to)}`].filter(Boolean);
  const hasTimes = [from, to].some((end) => end?.includes("T"));
  return [...ends, zoneName(hasTimes ? undefined : 0)].join(", ");
}

function endWords(end: string): string {
  if (Number.isNaN(Date.parse(end))) return end;
  return end.includes("T") ? timeName(end) : dayName(end);
}

function waitWords(from: string | undefined, to: string | undefined): string {
  const least = Number(from ?? 0);
  if (to === undefined) return `waited ${durationOf(least)} or longer`;
  if (least === 0) return `waited under ${durationOf(Number(to))}`;
  return `waited ${durationOf(least)} to ${durationOf(Number(to))}`;
}

function hourWords(weekday: string | undefined, hour: string | undefined): string {
  const ahead = weekday !== undefined && hour !== undefined ? offsetHours() : 0;
  const at = shifted({ weekday: Number(weekday ?? 0), hour: Number(hour ?? 0) }, ahead);
  const day = WEEKDAYS.find(({ day }) => day === at.weekday)?.name ?? "";
  const parts = [weekday !== undefined && day, hour !== undefined && `at ${clock(at.hour)}`];
  return `${parts.filter(Boolean).join(" ")} ${zoneName(ahead)}`;
}

function Chip({ names, words }: ChipProps) {
  const address = useAddress();
  const values = names.map((name) => address.query[name] || undefined);
  if (values.every((value) => value === undefined)) return null;
  const none = Object.fromEntries(names.map((name) => [name, null]));
  return (
    <button
      type="button"
      class="filter-chip"
      title="Remove this filter"
      onClick={() => address.set({ ...none, cursor: null }, { push: true })}
    >
      <Text as="span" class="ellipsis" value={words(...values)} />
      <Icon name="x" />
    </button>
  );
}

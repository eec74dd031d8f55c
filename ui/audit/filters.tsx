import { Choice } from "../parts/choice.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { useAddress } from "../state/address.ts";
import { TYPES, WINDOWS } from "./words.ts";

/** The filters of the log, as the daemon takes them. */
export type Filter = Partial<
  Record<"type" | "window" | "from" | "to" | "session_id" | "action_id", string>
>;

/** The filters in an address. A day stands for its midnight here. */
export function filterOf(query: Record<string, string | undefined>): Filter {
  const filter: Filter = {};
  for (const name of ["type", "window", "session_id", "action_id"] as const) {
    if (query[name]) filter[name] = query[name];
  }
  const from = dayOf(query["from"], 0);
  const to = dayOf(query["to"], 1);
  return { ...filter, ...from && { from }, ...to && { to } };
}

/** The start of a local day, or of a later one; null for anything else. */
function dayOf(text: string | undefined, later: number): string | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text ?? "")) return null;
  const [year, month, day] = text!.split("-").map(Number);
  const date = new Date(year!, month! - 1, day! + later);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The filters of the log; the URL holds their values. */
export function Filters({ hasIds }: { hasIds: boolean }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <Choice name="type" label="Kind of event" all="Any kind of event" options={TYPES} />
      <Choice name="window" label="Period" all="Any time" options={WINDOWS} />
      <Day name="from" label="From" />
      <Day name="to" label="To" />
      {hasIds && <Chip name="action_id" word="action" />}
      {hasIds && <Chip name="session_id" word="session" />}
    </form>
  );
}

function Day({ name, label }: { name: "from" | "to"; label: string }) {
  const address = useAddress();
  return (
    <label class="field audit-day">
      <span class="quiet">{label}</span>
      <input
        type="date"
        value={address.query[name] ?? ""}
        onChange={(event) =>
          address.set({ [name]: event.currentTarget.value, cursor: null }, { push: true })}
      />
    </label>
  );
}

function Chip({ name, word }: { name: "action_id" | "session_id"; word: string }) {
  const address = useAddress();
  const value = address.query[name];
  if (!value) return null;
  return (
    <button
      type="button"
      class="filter-chip"
      title="Remove this filter"
      onClick={() => address.set({ [name]: null, cursor: null }, { push: true })}
    >
      {word} <Text value={value.slice(-8)} />
      <Icon name="x" />
    </button>
  );
}

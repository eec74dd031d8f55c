import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { useAddress } from "../state/address.ts";
import { FILTERS } from "./filters.tsx";

/** Filters with a name; this browser keeps them. */
interface SavedFilter {
  name: string;
  query: Record<string, string>;
}

const STORE = "gate.filters";
const MOST = 20;
const KEPT = [...FILTERS, "order"] as const;

const saved = signal<SavedFilter[]>(readSaved());

/** The saved filters as links, and a way to save the present ones. */
export function SavedFilters() {
  const { query } = useAddress();
  const [isNaming, setNaming] = useState(false);
  const present = pick(query);
  const key = keyOf(present);
  const isSaved = saved.value.some((one) => keyOf(one.query) === key);
  const canSave = key !== keyOf({}) && !isSaved && saved.value.length < MOST;
  if (saved.value.length === 0 && !canSave) return null;
  return (
    <div class="saved-filters" role="group" aria-label="Saved filters">
      {saved.value.map((one) => (
        <Chip key={one.name} filter={one} isShown={keyOf(one.query) === key} />
      ))}
      {canSave && (isNaming
        ? <NameForm query={present} onDone={() => setNaming(false)} />
        : <Button kind="quiet" onClick={() => setNaming(true)}>Save these filters</Button>)}
    </div>
  );
}

function Chip({ filter, isShown }: { filter: SavedFilter; isShown: boolean }) {
  const address = useAddress();
  return (
    <span class="saved-filter">
      <a
        href={address.href("/actions", filter.query)}
        aria-current={isShown ? "true" : undefined}
      >
        <Text as="span" class="ellipsis" value={filter.name} />
      </a>
      <button
        type="button"
        title="Forget these filters"
        onClick={() => write(saved.value.filter((one) => one !== filter))}
      >
        <Icon name="x" />
        <span class="visually-hidden">
          Forget <Text value={filter.name} />
        </span>
      </button>
    </span>
  );
}

function NameForm(props: { query: Record<string, string>; onDone: () => void }) {
  const [name, setName] = useState(nameFor(props.query));
  const save = (event: Event) => {
    event.preventDefault();
    if (name.trim() === "") return;
    const others = saved.value.filter((one) => one.name !== name.trim());
    write([...others, { name: name.trim(), query: props.query }]);
    props.onDone();
  };
  return (
    <form class="saved-name" onSubmit={save}>
      <label class="field">
        <span class="visually-hidden">Name</span>
        <input
          value={name}
          maxLength={60}
          ref={focusOnce}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && props.onDone()}
        />
      </label>
      <button type="submit" class="button button-plain">Save</button>
    </form>
  );
}

function focusOnce(input: HTMLInputElement | null): void {
  if (input && document.activeElement !== input) input.select();
}

function nameFor(query: Record<string, string>): string {
  return Object.values(query).join(" · ").slice(0, 60);
}

function pick(query: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(KEPT.flatMap((name) => {
    const value = query[name];
    return value ? [[name, value]] : [];
  }));
}

function keyOf(query: Record<string, string>): string {
  return JSON.stringify(KEPT.map((name) => query[name] ?? ""));
}

function write(next: SavedFilter[]): void {
  saved.value = next;
  localStorage.setItem(STORE, JSON.stringify(next));
}

// Another release may have written the text.
function readSaved(): SavedFilter[] {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(STORE) ?? "[]");
    if (!Array.isArray(read)) return [];
    return read.filter(isSavedFilter).slice(0, MOST)
      .map(({ name, query }) => ({ name, query: pick(query) }));
  } catch {
    return [];
  }
}

function isSavedFilter(value: unknown): value is SavedFilter {
  const { name, query } = (value ?? {}) as Partial<SavedFilter>;
  return typeof name === "string" && typeof query === "object" && query !== null &&
    Object.values(query).every((text) => typeof text === "string");
}

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Key } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import type { Action } from "../../server/actions/schema.ts";
import { flatten } from "../../server/shown/visible.ts";
import { decisionWord } from "../parts/badges.tsx";
import { plain, sentenceOf } from "../parts/words.ts";
import { cardOf, listPath, useAddress } from "../state/address.ts";
import { type Binding, pageBindings } from "../state/keys.ts";
import { daemon, pending } from "../state/live.ts";
import { useRecorded } from "./recorded.ts";

interface Entry {
  icon: IconName;
  kind: string;
  text: string;
  keys?: string;
  run: () => void;
}

const SHOWN = 12;

/** Finds commands, pages, projects and held actions by name, and recorded actions by their words. */
export function Palette({ text, onClose }: { text: string; onClose: () => void }) {
  const address = useAddress();
  const typed = useSignal(text);
  const at = useSignal(0);
  const bindings = useRef(pageBindings());
  const found = find(entriesOf(address, bindings.current), typed.value);
  const recorded = useRecorded(typed.value);
  // Later results come last, so that no row moves.
  const entries = typed.value.trim() === "" ? found : [
    ...found,
    searchFor(address, typed.value),
    ...recorded.value.filter(({ status }) => status !== "pending")
      .map((action) => recordOf(address, action)),
  ];
  const chosen = Math.min(at.value, entries.length - 1);
  const run = (entry: Entry | undefined) => {
    onClose();
    if (entry) setTimeout(entry.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") at.value = Math.min(entries.length - 1, chosen + 1);
    else if (event.key === "ArrowUp") at.value = Math.max(0, chosen - 1);
    else if (event.key === "Enter") run(entries[chosen]);
    else return;
    event.preventDefault();
  };
  const onType = (text: string) => {
    typed.value = text;
    at.value = 0;
  };
  return (
    <Dialog title="Find a command" onClose={onClose}>
      <Field chosen={chosen} typed={typed.value} onType={onType} onKeyDown={onKeyDown} />
      <ul id="palette-list" class="palette" role="listbox" aria-label="Results">
        {entries.map((entry, index) => (
          <Found
            key={index}
            entry={entry}
            index={index}
            chosen={chosen}
            run={() => run(entry)}
          />
        ))}
      </ul>
    </Dialog>
  );
}

interface FieldProps {
  chosen: number;
  typed: string;
  onType: (text: string) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

function Field({ chosen, typed, onType, onKeyDown }: FieldProps) {
  return (
    <label class="field">
      <Icon name="search" />
      <span class="visually-hidden">Find a command, page, project or action</span>
      <input
        autofocus
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen >= 0 ? `palette-${chosen}` : undefined}
        autocomplete="off"
        placeholder="Command, page, project or action"
        value={typed}
        onInput={(event) => onType(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
    </label>
  );
}

function Found(props: { entry: Entry; index: number; chosen: number; run: () => void }) {
  const { icon, text, kind, keys } = props.entry;
  return (
    <li
      id={`palette-${props.index}`}
      role="option"
      aria-selected={props.index === props.chosen}
      onClick={props.run}
    >
      <Icon name={icon} />
      <span class="ellipsis palette-text">{text}</span>
      <span class="quiet">{kind}</span>
      {keys && <Key keys={keys} />}
    </li>
  );
}

function entriesOf(address: ReturnType<typeof useAddress>, bindings: Binding[]): Entry[] {
  const doing = bindings.filter((binding) => binding.group !== "Move" && binding.keys !== "mod+k")
    .map((binding): Entry => ({
      icon: binding.group === "Go to" ? "next" : "dot",
      kind: binding.group === "Go to" ? "page" : "command",
      text: binding.label,
      keys: binding.keys,
      run: binding.run,
    }));
  const projects = (daemon.value?.projects ?? []).map((project): Entry => ({
    icon: "layers",
    kind: "project",
    text: flatten(project.name),
    run: () => address.go(listPath(address.path), { project: project.id, scope: null }),
  }));
  const cards = (pending.value ?? []).map((action): Entry => ({
    icon: "clock",
    kind: "held",
    text: plain(sentenceOf(action)),
    run: () => address.go("/approvals", cardOf(action, address.query)),
  }));
  return [...doing, ...projects, ...cards];
}

// The daemon searches the actions that are not on this page.
function searchFor(address: ReturnType<typeof useAddress>, typed: string): Entry {
  return {
    icon: "search",
    kind: "all actions",
    text: `Search for “${flatten(typed.trim())}”`,
    run: () => address.go("/actions", { q: typed.trim() }),
  };
}

function recordOf(address: ReturnType<typeof useAddress>, action: Action): Entry {
  return {
    icon: "list",
    kind: decisionWord(action),
    text: plain(sentenceOf(action)),
    run: () => address.go(`/actions/${action.id}`),
  };
}

/** Those that begin with the text come first, then those with a word that does. */
function find(entries: Entry[], typed: string): Entry[] {
  const wanted = typed.trim().toLowerCase();
  const words = wanted.split(/\s+/);
  const rankOf = ({ text }: Entry) => {
    const lower = text.toLowerCase();
    return lower.startsWith(wanted) ? 0 : lower.includes(` ${wanted}`) ? 1 : 2;
  };
  return entries.filter((entry) => words.every((word) => entry.text.toLowerCase().includes(word)))
    .toSorted((a, b) => rankOf(a) - rankOf(b)).slice(0, SHOWN);
}

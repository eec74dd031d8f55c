import type { RefObject } from "preact";
import { Key } from "../parts/button.tsx";
import { Choice } from "../parts/choice.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
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

/** The filters of the table; the URL holds their values. */
export function Filters({ inputRef }: { inputRef: RefObject<HTMLInputElement | null> }) {
  const address = useAddress();
  const session = address.query["session_id"];
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
      <Words name="path" label="Path" placeholder="Whole path" />
      <Words name="agent" label="Agent" placeholder="Agent" />
      {session && (
        <button
          type="button"
          class="filter-chip"
          title="Remove this filter"
          onClick={() => address.set({ session_id: null, cursor: null }, { push: true })}
        >
          session <Text value={session.slice(-8)} />
          <Icon name="x" />
        </button>
      )}
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

function Words({ name, label, placeholder, inputRef, keys }: WordsProps) {
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

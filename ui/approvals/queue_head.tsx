import type { RefObject } from "preact";
import { Button, Key, Segmented } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { count, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { unread } from "../state/live.ts";
import { useHeldCount, usePending, useProject, useProjects } from "../state/project.ts";
import { marks } from "./marks.ts";
import { type QueueItem, sortAgain, useArrangement } from "./queue_items.ts";

interface HeadProps {
  filter: RefObject<HTMLInputElement | null>;
  items: QueueItem[];
  /** Cards came later, so the list is not quite in its order. */
  isLate: boolean;
  onMarked: () => void;
  onRemembered: () => void;
}

const SCOPES = [
  { value: "project", label: "This project" },
  { value: "all", label: "All projects" },
] as const;

const ORDERS = [
  { value: "age", label: "Oldest" },
  { value: "risk", label: "Riskiest" },
  { value: "project", label: "Project" },
] as const;

/** The title of the queue, its scope, its order and its filter. */
export function QueueHead({ filter, items, isLate, onMarked, onRemembered }: HeadProps) {
  const address = useAddress();
  const project = useProject();
  const scope = address.query["scope"] === "all" ? "all" : "project";
  const pending = usePending();
  const several = useProjects().length > 1 && project !== null;
  const shown = items.length + unread.value;
  const total = useHeldCount(scope === "all" ? null : project);
  return (
    <header class="queue-head">
      <div class="queue-title">
        <h2>Approvals</h2>
        {pending !== null && (
          <span class="quiet">
            {shown === total ? `${number(total)} held` : `${number(shown)} of ${number(total)}`}
          </span>
        )}
        <span class="queue-remembered">
          <Button
            kind="quiet"
            keys="shift+m"
            title="Show remembered approvals"
            onClick={onRemembered}
          >
            Remembered
          </Button>
        </span>
      </div>
      {several && (
        <Segmented
          label="Projects"
          value={scope}
          options={SCOPES}
          onChange={(value) => address.set({ scope: value === "all" ? "all" : null })}
        />
      )}
      <Order isLate={isLate} />
      <FilterField filter={filter} />
      <Marked items={items} onMarked={onMarked} />
    </header>
  );
}

/** The order of the list; it waits for a key before it moves what is being read. */
function Order({ isLate }: { isLate: boolean }) {
  const address = useAddress();
  const { sort, bySession } = useArrangement();
  const push = { push: true };
  return (
    <div class="queue-order">
      <Segmented
        label="Order"
        value={sort}
        options={ORDERS}
        onChange={(value) => address.set({ sort: value === "age" ? null : value }, push)}
      />
      <button
        type="button"
        class="button button-quiet"
        aria-pressed={bySession}
        onClick={() => address.set({ group: bySession ? null : "session" }, push)}
      >
        By session
      </button>
      {isLate && <Button kind="quiet" keys="." onClick={sortAgain}>Sort the new ones</Button>}
    </div>
  );
}

/** Opens the decision about the marked cards of the list, and says how many others are marked. */
function Marked({ items, onMarked }: { items: QueueItem[]; onMarked: () => void }) {
  const listed = items.filter(({ id, gone }) => !gone && marks.value.has(id)).length;
  const held = usePending()?.filter(({ id }) => marks.value.has(id)).length ?? 0;
  const others = Math.max(0, held - listed);
  return (
    <>
      {listed > 0 && (
        <Button kind="primary" icon="check" keys="shift+a" onClick={onMarked}>
          Decide on {listed} marked
        </Button>
      )}
      {others > 0 && (
        <p class="quiet small">
          {count(others, "marked action")} {others === 1 ? "is" : "are"} not in the list.
        </p>
      )}
    </>
  );
}

function FilterField({ filter }: Pick<HeadProps, "filter">) {
  const address = useAddress();
  return (
    <label class="field">
      <Icon name="search" />
      <span class="visually-hidden">Filter the queue</span>
      <input
        ref={filter}
        type="search"
        placeholder="Filter by path, command, agent"
        value={address.query["q"] ?? ""}
        onInput={(event) => address.set({ q: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
        }}
      />
      <Key keys="/" />
    </label>
  );
}

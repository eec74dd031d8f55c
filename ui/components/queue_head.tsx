import type { RefObject } from "preact";
import { usePending, useProject, useProjects } from "../project.ts";
import { useAddress } from "../router.ts";
import { pendingByProject } from "../state.ts";
import { number } from "../words.ts";
import { marks } from "../marks.ts";
import { Button, Key, Segmented } from "./button.tsx";
import { Icon } from "./icon.tsx";

interface HeadProps {
  filter: RefObject<HTMLInputElement | null>;
  shown: number;
  onApproveMarked: () => void;
  onRemembered: () => void;
}

const SCOPES = [
  { value: "project", label: "This project" },
  { value: "all", label: "All projects" },
] as const;

/** The queue's title, whose projects it shows, and its filter. */
export function QueueHead({ filter, shown, onApproveMarked, onRemembered }: HeadProps) {
  const address = useAddress();
  const project = useProject();
  const scope = address.query["scope"] === "all" ? "all" : "project";
  const pending = usePending();
  const several = useProjects().length > 1 && project !== null;
  const total = scope === "all" || !project
    ? pending?.length ?? 0
    : pendingByProject.value.get(project) ?? 0;
  return (
    <header class="queue-head">
      <div class="queue-title">
        <h2>Approvals</h2>
        {pending !== null && (
          <span class="quiet">
            {shown === total ? `${number(total)} waiting` : `${number(shown)} of ${number(total)}`}
          </span>
        )}
        <span class="queue-remembered">
          <Button kind="quiet" keys="shift+m" onClick={onRemembered}>Remembered</Button>
        </span>
      </div>
      {several && (
        <Segmented
          label="Whose approvals"
          value={scope}
          options={SCOPES}
          onChange={(value) => address.set({ scope: value === "all" ? "all" : null })}
        />
      )}
      <FilterField filter={filter} />
      {marks.value.size > 0 && (
        <Button kind="primary" icon="check" keys="shift+a" onClick={onApproveMarked}>
          Approve {marks.value.size} marked
        </Button>
      )}
    </header>
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

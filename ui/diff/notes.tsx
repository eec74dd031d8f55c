import { type Signal, useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { LineComment } from "../../server/actions/schema.ts";
import { Button } from "../parts/button.tsx";
import { Text } from "../parts/text.tsx";
import type { DiffModel } from "./diff_model.ts";

/** The comments on lines of a held change. The agent reads them if the action is rejected. */
export type Notes = Signal<readonly LineComment[]>;

/** A line of a file, before or after the change, and the earlier comment that is taken up there. */
export type Place = Pick<LineComment, "line" | "side" | "answers">;

/** The line that a person most likely means: the first that changes. */
export function firstPlace({ parts }: DiffModel): Place {
  const lines = parts.flatMap((part) => part.fold === null ? part.lines : []);
  const added = lines.find(({ kind }) => kind === "add");
  if (added?.b) return { side: "after", line: added.b };
  return { side: "before", line: lines.find(({ kind }) => kind === "del")?.a ?? 1 };
}

/** The line whose number a click meets; null for a click elsewhere. */
export function placeOf(target: EventTarget | null): Place | null {
  const cell = target instanceof Element ? target.closest("td.line-number") : null;
  const line = Number(cell?.textContent);
  if (!cell || !(line > 0)) return null;
  return { side: cell.matches(":first-child") ? "before" : "after", line };
}

interface FileNotesProps {
  notes: Notes;
  path: string;
  /** The line that is being commented; null while no form is open. */
  place: Signal<Place | null>;
}

/** The comments on one file, and the form for the next one. */
export function FileNotes({ notes, path, place }: FileNotesProps) {
  const own = notes.value.filter((note) => note.path === path);
  if (own.length === 0 && place.value === null) return null;
  return (
    <div class="notes">
      {own.length > 0 && (
        <ul aria-label="Comments">
          {own.map((note) => (
            <li key={`${note.side} ${note.line} ${note.text}`}>
              <span class="quiet small">{nameOf(note)}</span>
              <Text as="p" value={note.text} />
              <Button
                kind="quiet"
                icon="trash"
                onClick={() => notes.value = notes.value.filter((one) => one !== note)}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
      {place.value && (
        <NoteForm
          place={place}
          onAdd={(note) => notes.value = [...notes.value, { ...note, path }]}
        />
      )}
    </div>
  );
}

/** "Line 4", and whether it is one before the change. */
export function nameOf({ line, side, answers }: Place): string {
  const name = side === "before" ? `Line ${line} before the change` : `Line ${line}`;
  return answers ? `${name}, an answer` : name;
}

interface NoteFormProps {
  place: Signal<Place | null>;
  onAdd: (note: Omit<LineComment, "path">) => void;
}

function NoteForm({ place, onAdd }: NoteFormProps) {
  const id = useId();
  const text = useSignal("");
  const field = useRef<HTMLTextAreaElement>(null);
  const { line, side, answers } = place.value!;
  useLayoutEffect(() => field.current?.focus(), []);
  const close = () => place.value = null;
  const add = () => {
    const said = text.peek().trim();
    if (said === "" || !(line > 0)) return;
    onAdd({ line, side, text: said, ...answers && { answers } });
    close();
  };
  return (
    <form
      class="notes-form"
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
      }}
    >
      <div class="notes-place">
        <label for={`${id}-line`}>Line</label>
        <span class="field">
          <input
            id={`${id}-line`}
            type="number"
            min="1"
            value={line || ""}
            onInput={(event) =>
              place.value = { ...place.value!, line: event.currentTarget.valueAsNumber || 0 }}
          />
        </span>
        <label class="field-check">
          <input
            type="checkbox"
            checked={side === "before"}
            onChange={(event) =>
              place.value = {
                ...place.value!,
                side: event.currentTarget.checked ? "before" : "after",
              }}
          />
          <span>before the change</span>
        </label>
      </div>
      <label for={`${id}-text`}>
        {answers ? "Answer to the earlier comment" : "Comment for the agent"}
      </label>
      <textarea
        id={`${id}-text`}
        ref={field}
        rows={2}
        maxLength={2000}
        value={text.value}
        onInput={(event) => text.value = event.currentTarget.value}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          add();
        }}
      />
      <div class="decision-buttons">
        <button type="submit" class="button button-primary">
          <span>Add the comment</span>
        </button>
        <Button kind="quiet" onClick={close}>Back</Button>
        <span class="quiet small">The agent reads it if you reject.</span>
      </div>
    </form>
  );
}

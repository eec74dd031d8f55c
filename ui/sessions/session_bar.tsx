import { bind, useKeys } from "../state/keys.ts";
import { useAddress } from "../state/address.ts";
import { type SessionRecord, type SessionUndo, undoable } from "./session.ts";
import { count } from "../parts/words.ts";
import { Button, Key } from "../parts/button.tsx";
import { announce } from "../parts/toast.tsx";

interface BarProps {
  record: SessionRecord;
  undo: SessionUndo;
  chosen: string | null;
  onDone: () => void;
}

/** What can be done with a session, or from one of its actions on. */
export function SessionBar(props: BarProps) {
  const { record, undo, chosen, onDone } = props;
  const address = useAddress();
  const many = undoable(record.actions, chosen).length;
  const look = () => many > 0 && undo.look(record, chosen);
  const run = async (on_conflict?: "merge" | "force") => {
    const result = await undo.run(record, on_conflict);
    if (!result) return;
    announce({ text: `Rolled back ${count(result.actions.length, "action")}`, tone: "ok" }, null);
    onDone();
  };
  const open = () => chosen && address.go(`/actions/${chosen}`);
  useKeys([
    ...bind(
      "Decide",
      ["u", "Roll back", look],
      ["mod+enter", "Roll back after the preview", () => undo.isPlanned() && run()],
      ["escape", "Back", () => undo.close()],
    ),
    ...bind("Move", ["o", "Open the record", open], ["enter", "Open the record", open]),
  ]);
  if (undo.open.value) return <UndoStep undo={undo} run={run} />;
  return <Ways chosen={chosen} many={many} look={look} />;
}

interface WaysProps extends Pick<BarProps, "chosen"> {
  /** How many actions can be rolled back from there on. */
  many: number;
  look: () => unknown;
}

function Ways({ chosen, many, look }: WaysProps) {
  const address = useAddress();
  return (
    <footer class="decision" aria-label="What can be done">
      <div class="decision-row">
        <p class="settled quiet">
          {many === 0
            ? "Nothing here can be rolled back"
            : `${count(many, "action")} can be rolled back`}
        </p>
        <div class="decision-buttons">
          {chosen !== null && (
            <a class="button button-plain" href={address.href(`/actions/${chosen}`)}>
              Open the record
              <Key keys="enter" />
            </a>
          )}
          <Button icon="undo" keys="u" disabled={many === 0} onClick={() => void look()}>
            {chosen === null ? "Roll back the session" : "Roll back from here"}
          </Button>
        </div>
      </div>
    </footer>
  );
}

interface StepProps {
  undo: SessionUndo;
  run: (on_conflict?: "merge" | "force") => Promise<void>;
}

function UndoStep({ undo, run }: StepProps) {
  const busy = undo.busy.value;
  return (
    <footer class="decision" aria-label="Roll back">
      <div class="decision-row">
        <div class="decision-buttons">
          {undo.isPlanned() && (
            <Button
              kind="primary"
              icon="undo"
              keys="mod+enter"
              busy={busy}
              onClick={() => void run()}
            >
              Roll back
            </Button>
          )}
          {undo.preview.value?.kind === "conflict" && (
            <>
              <Button busy={busy} onClick={() => void run("merge")}>Merge</Button>
              <Button kind="danger" busy={busy} onClick={() => void run("force")}>Overwrite</Button>
            </>
          )}
          <Button kind="quiet" keys="escape" onClick={() => undo.close()}>Back</Button>
        </div>
      </div>
    </footer>
  );
}

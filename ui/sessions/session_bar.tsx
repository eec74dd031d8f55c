import { useRef } from "preact/hooks";
import { Button, Key } from "../parts/button.tsx";
import { announce } from "../parts/toast.tsx";
import { count } from "../parts/words.ts";
import type { OnConflict } from "../rollback/rollback.ts";
import { RollbackBar } from "../rollback/rollback_pane.tsx";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { reversibleFrom, type SessionRecord, type SessionRollback } from "./session.ts";

interface BarProps {
  record: SessionRecord;
  rollback: SessionRollback;
  chosen: string | null;
  onDone: () => void;
}

/** The buttons of a session, or of the chosen action and those after it. */
export function SessionBar({ record, rollback, chosen, onDone }: BarProps) {
  const address = useAddress();
  const previewed = useRef(chosen);
  const many = reversibleFrom(record.actions, chosen).length;
  const look = () => {
    if (many === 0) return;
    previewed.current = chosen;
    void rollback.look({ record, from: chosen });
  };
  const run = async (on_conflict?: OnConflict) => {
    const result = await rollback.run({ record, from: previewed.current }, on_conflict);
    if (!result) return;
    announce({ text: `Rolled back ${count(result.actions.length, "action")}`, tone: "ok" }, null);
    onDone();
  };
  const open = () => chosen && address.go(`/actions/${chosen}`);
  useKeys([
    ...bind(
      "Decide",
      ["u", "Roll back", look],
      ["mod+enter", "Roll back as previewed", () => rollback.isReady() && run()],
      ["escape", "Go back", () => rollback.close()],
    ),
    ...bind("Move", ["o", "Open the record", open], ["enter", "Open the record", open]),
  ]);
  if (rollback.open.value) return <RollbackBar rollback={rollback} run={run} />;
  return <Choices chosen={chosen} many={many} look={look} />;
}

interface ChoicesProps extends Pick<BarProps, "chosen"> {
  /** How many actions can be rolled back. */
  many: number;
  look: () => void;
}

function Choices({ chosen, many, look }: ChoicesProps) {
  const address = useAddress();
  return (
    <footer class="decision" aria-label="Choices">
      <div class="decision-row">
        <p class="settled quiet">
          {many === 0
            ? "No action can be rolled back"
            : `${count(many, "action")} can be rolled back`}
        </p>
        <div class="decision-buttons">
          {chosen !== null && (
            <a class="button button-plain" href={address.href(`/actions/${chosen}`)}>
              Open the record
              <Key keys="enter" />
            </a>
          )}
          <Button icon="rollback" keys="u" disabled={many === 0} onClick={look}>
            {chosen === null ? "Roll back the session" : "Roll back from here"}
          </Button>
        </div>
      </div>
    </footer>
  );
}

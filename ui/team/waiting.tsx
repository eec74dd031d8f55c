import type { AcceptListInput, WaitingList } from "../../server/team/schema.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Code, Text } from "../parts/text.tsx";
import { useWorking } from "../parts/working.ts";

interface WaitingProps {
  file: string;
  /** Why the file is not in force as it is; null if it is. */
  problem: string | null;
  /** The change that this person can accept; null for none. */
  waiting: WaitingList | null;
  onAccept: (seen: AcceptListInput) => Promise<unknown>;
  onChange: () => void;
}

const WORDS = { added: "Added", changed: "Changed", removed: "Removed" } as const;

/** A change of a file by hand: each difference, and the button that accepts exactly these. */
export function Waiting({ file, problem, waiting, onAccept, onChange }: WaitingProps) {
  const { busy, run } = useWorking(onChange);
  if (problem === null) return null;
  const accept = ({ items_sha256, number }: WaitingList) =>
    run(() => onAccept({ items_sha256, number }), `${file} is in force`);
  return (
    <section class="team-waiting" aria-label={`Changes of ${file}`}>
      <p class="notice tone-warn" role="status">
        <Icon name="alert" />
        <Text as="span" value={problem} />
      </p>
      {waiting && (
        <>
          {waiting.differences.length === 0 && <p>The entries are the same; nobody signed them.</p>}
          <ul class="team-list">
            {waiting.differences.map(({ kind, id, text }) => (
              <li key={`${kind} ${id}`}>
                <span class="badge">{WORDS[kind]}</span>{" "}
                <strong>
                  <Text value={id} />
                </strong>{" "}
                {text !== "" && <Code value={text} />}
              </li>
            ))}
          </ul>
          <Button
            kind="primary"
            icon="check"
            busy={busy.value}
            onClick={() => void accept(waiting)}
          >
            Accept the changes of {file}
          </Button>
        </>
      )}
    </section>
  );
}

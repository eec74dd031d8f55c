import type { AuditEvent } from "../../server/evidence/schema.ts";
import { Text } from "../parts/text.tsx";

const MOST = 50;

/** Counts of decisions by who made them. */
export function Deciders({ deciders }: { deciders: Decider[] }) {
  if (deciders.length === 0) return null;
  return (
    <section>
      <h2>Who decided</h2>
      <table class="counts">
        <thead>
          <tr>
            <th>Who</th>
            <th>Approved or allowed</th>
            <th>Refused</th>
            <th>Edited</th>
            <th>Rolled back</th>
          </tr>
        </thead>
        <tbody>
          {deciders.slice(0, MOST).map((decider) => (
            <tr key={`${decider.kind} ${decider.id}`}>
              <Text as="td" value={nameOf(decider)} />
              {[decider.approved, decider.refused, decider.edited, decider.rolled_back].map((n) => (
                <td class={n === 0 ? "none" : ""}>{n === 0 ? "–" : n.toLocaleString("en")}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function nameOf({ kind, id }: Decider): string {
  if (kind === "policy") return "policy";
  return kind === id ? kind : `${id} (${kind})`;
}

/** The decisions of one person or of the policy. */
export interface Decider {
  kind: string;
  id: string;
  approved: number;
  refused: number;
  edited: number;
  rolled_back: number;
}

type Count = "approved" | "refused" | "edited" | "rolled_back";

const COUNTS: Record<string, Count> = {
  "action.approved": "approved",
  "action.rejected": "refused",
  "action.expired": "refused",
  "action.edited": "edited",
  "action.rolled_back": "rolled_back",
};

/** Counts decisions while the check reads the events. */
export class Tally {
  readonly #deciders = new Map<string, Decider>();

  add(event: AuditEvent): void {
    const count = COUNTS[event.type];
    if (count) this.#count(deciderOf(event), count);
  }

  /** The deciders with the most decisions first. */
  deciders(): Decider[] {
    const sum = ({ approved, refused, edited, rolled_back }: Decider) =>
      approved + refused + edited + rolled_back;
    return [...this.#deciders.values()].sort((a, b) => sum(b) - sum(a));
  }

  #count({ kind, id }: { kind: string; id: string }, count: Count): void {
    const key = JSON.stringify([kind, id]);
    const decider = this.#deciders.get(key) ??
      { kind, id, approved: 0, refused: 0, edited: 0, rolled_back: 0 };
    decider[count] += 1;
    this.#deciders.set(key, decider);
  }
}

/** Who decided. The gate itself records a rollback that it carried out; the event names who asked for it. */
function deciderOf({ type, actor, data }: AuditEvent): { kind: string; id: string } {
  const by = type === "action.rolled_back" && actor.kind === "system" ? data["by"] : null;
  if (typeof by !== "string") return actor;
  return by === "policy" ? { kind: "policy", id: by } : { kind: "reviewer", id: by };
}

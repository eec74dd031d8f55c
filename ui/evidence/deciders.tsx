import { Text } from "../components/text.tsx";
import type { Decider } from "./tally.ts";

const MOST = 50;

/** Who decided what, counted. */
export function Deciders({ deciders }: { deciders: Decider[] }) {
  if (deciders.length === 0) return null;
  return (
    <section>
      <h2>Who decided</h2>
      <table class="counts">
        <thead>
          <tr>
            <th>Who</th>
            <th>Approved</th>
            <th>Refused</th>
            <th>Edited</th>
            <th>Undone</th>
          </tr>
        </thead>
        <tbody>
          {deciders.slice(0, MOST).map((decider) => (
            <tr key={`${decider.kind} ${decider.id}`}>
              <td>
                <Text value={nameOf(decider)} />
              </td>
              {[decider.approved, decider.refused, decider.edited, decider.undone].map((n) => (
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

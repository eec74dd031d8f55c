import type { ActionDetail } from "../../server/actions/schema.ts";
import { Text } from "../parts/text.tsx";

/** Lists created, deleted and changed paths of a move or of a finished command. */
export function Moved({ detail }: { detail: ActionDetail }) {
  return (
    <section class="file" aria-label={detail.command === null ? "Changes" : "Changed files"}>
      <table class="opaque moved">
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col">Path</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {detail.changes.map((change) => (
            <tr key={change.path}>
              <th scope="row">{wordOf(change)}</th>
              <Text as="td" class="code-text" value={change.path} />
              <td class="code-text">{change.after_sha256 ?? change.before_sha256}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function wordOf(change: ActionDetail["changes"][number]): string {
  if (change.before_sha256 === null) return "New";
  return change.after_sha256 === null ? "Deleted" : "Changed";
}

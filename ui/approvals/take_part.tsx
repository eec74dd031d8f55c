import type { ActionDetail } from "../../server/actions/schema.ts";
import { Code } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import type { Review } from "./review.ts";

/** Chooses the files whose changes are taken over. The others stay as they are. */
export function TakePart({ review, detail }: { review: Review; detail: ActionDetail }) {
  const files = detail.files ?? [];
  const left = review.left.value;
  if (files.length < 2) return null;
  return (
    <details class="permit small" open={left.size > 0}>
      <summary>
        {left.size === 0
          ? `Takes over all ${count(files.length, "file")}`
          : `Takes over ${files.length - left.size} of ${count(files.length, "file")}`}
      </summary>
      <fieldset>
        <legend>Take over the changes of these files:</legend>
        {files.map(({ path }) => (
          <label key={path}>
            <input
              type="checkbox"
              checked={!left.has(path)}
              onChange={() => review.turnTaken(path)}
            />
            <Code value={path} />
          </label>
        ))}
      </fieldset>
    </details>
  );
}

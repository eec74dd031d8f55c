import type { ActionDetail } from "../../server/actions/schema.ts";
import { durationOf } from "../words.ts";
import { Text } from "./text.tsx";

/** What a command printed, with its exit code. */
export function Output({ detail }: { detail: ActionDetail }) {
  const { output, exit_code } = detail;
  if (!output) return null;
  return (
    <section class="output" aria-label="Output">
      <header class="output-head">
        <h2>Output</h2>
        <span class={exit_code === 0 ? "quiet" : "tone-danger"}>
          {exit_code === null ? "no exit code" : `exit code ${exit_code}`}
        </span>
        <span class="quiet">{durationOf(output.duration_ms)}</span>
        {output.truncated && (
          <span class="tone-warn">cut in the middle: head and tail are kept</span>
        )}
      </header>
      {output.text === ""
        ? <p class="quiet output-none">It printed nothing.</p>
        : (
          <pre class="command" tabIndex={0}>
            <Text value={output.text} code />
          </pre>
        )}
    </section>
  );
}

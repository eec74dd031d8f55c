import type { Line } from "../diff_model.ts";
import { Text } from "./text.tsx";

/** One line of a difference with its changed stretches marked and nothing invisible. */
export function DiffLine({ line }: { line: Line }) {
  if (line.kind === "note") return <span class="line-note">{line.text}</span>;
  if (line.text === "") return <br />;
  if (line.marks.length === 0) return <Text value={line.text} code />;
  return (
    <>
      {stretches(line).map(([text, marked], at) =>
        marked
          ? (
            <mark key={at}>
              <Text value={text} code />
            </mark>
          )
          : <Text key={at} value={text} code />
      )}
    </>
  );
}

function stretches(line: Line): [string, boolean][] {
  const found: [string, boolean][] = [];
  let from = 0;
  for (const [start, end] of line.marks) {
    if (start > from) found.push([line.text.slice(from, start), false]);
    found.push([line.text.slice(start, end), true]);
    from = end;
  }
  if (from < line.text.length) found.push([line.text.slice(from), false]);
  return found;
}

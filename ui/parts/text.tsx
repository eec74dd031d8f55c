import { type Segment, segments } from "./visible.ts";
import { splitPath } from "./words.ts";

/** Shows text from an agent with hidden characters made visible. No other way may show such text. */
export function Text({ value, code }: { value: string; code?: boolean }) {
  return <>{segments(value, { code }).map((segment, at) => <Piece key={at} segment={segment} />)}
  </>;
}

/** Code inside a sentence. */
export function Code({ value }: { value: string }) {
  return (
    <code class="code">
      <Text value={value} />
    </code>
  );
}

/** A path with its name in bold. A narrow line shortens the folder first. */
export function Path({ value }: { value: string }) {
  const { folder, name } = splitPath(value);
  return (
    <span class="path">
      {folder !== "" && (
        <span class="path-folder">
          <Text value={folder} />
        </span>
      )}
      <span class="path-name">
        <Text value={name} />
      </span>
    </span>
  );
}

function Piece({ segment }: { segment: Segment }) {
  if (segment.kind === "text") return <>{segment.text}</>;
  return <span class={`chip chip-${segment.kind}`} title={segment.note}>{segment.text}</span>;
}

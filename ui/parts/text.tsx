import { createElement } from "preact";
import { type Segment, segments } from "../../server/shown/visible.ts";
import { splitPath } from "./words.ts";

interface TextProps {
  value: string;
  /** Tabs and line feeds are layout. */
  code?: boolean;
  /** The element around the text. */
  as?: "span" | "p" | "td" | "li";
  class?: string;
}

/** Shows text from an agent with hidden characters made visible. No other way may show such text. */
export function Text({ value, code, as, class: className }: TextProps) {
  const pieces = segments(value, { code }).map((segment, at) => (
    <Piece
      key={at}
      segment={segment}
    />
  ));
  return as ? createElement(as, { class: className }, pieces) : <>{pieces}</>;
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

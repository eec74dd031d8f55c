import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Text } from "../parts/text.tsx";
import { number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";

interface Row {
  name: string;
  count: number;
  /** The part of an address that lists the actions behind the bar. */
  changes: Record<string, string | null>;
}

interface BarsProps {
  title: string;
  note: string;
  /** Said in place of an empty chart. */
  none: string;
  rows: Row[];
  isCode?: boolean;
}

/** Counts as bars; each opens the actions behind it. */
export function Bars({ title, note, none, rows, isCode }: BarsProps) {
  const id = useId();
  const address = useAddress();
  const most = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <section class="room-part analytics-part" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <p class="quiet">{rows.length === 0 ? none : note}</p>
      <ul class="bars">
        {rows.map(({ name, count, changes }) => (
          <li key={name}>
            <Opens href={count > 0 ? address.href("/actions", changes) : null}>
              <span class={`bars-name ${isCode ? "code-text" : ""}`}>
                <Text value={name} />
              </span>
              <svg
                class="bars-bar"
                viewBox="0 0 100 1"
                preserveAspectRatio="none"
                aria-hidden="true"
              >
                <rect width={count === 0 ? 0 : Math.max(0.5, 100 * count / most)} height="1" />
              </svg>
              <span class="bars-count">{number(count)}</span>
            </Opens>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A link; plain where nothing is behind it. */
function Opens({ href, children }: { href: string | null; children: ComponentChildren }) {
  return href === null ? <div>{children}</div> : <a href={href}>{children}</a>;
}

import type { ComponentChildren } from "preact";
import { Path } from "../parts/text.tsx";
import { number } from "../parts/words.ts";

interface FrameProps {
  path: string | null;
  label?: string;
  added?: number;
  removed?: number;
  /** Short facts about the file: "new", "mode 0644 kept". */
  facts?: ComponentChildren[];
  tools?: ComponentChildren;
  children?: ComponentChildren;
}

/** A frame around one file, with its path, counts and facts at the top. */
export function FileFrame(
  { path, label = "Changes", added = 0, removed = 0, facts = [], tools, children }: FrameProps,
) {
  return (
    <section class="file" aria-label={label}>
      <header class="file-head">
        <span class="code-text">{path !== null && <Path value={path} />}</span>
        <span class="small figures">
          {added > 0 && <span class="figure-add">+{number(added)}</span>}
          {removed > 0 && <span class="figure-del">−{number(removed)}</span>}
          {facts.map((fact, at) => <span key={at} class="quiet">{fact}</span>)}
        </span>
        {tools && <span class="file-tools">{tools}</span>}
      </header>
      {children}
    </section>
  );
}

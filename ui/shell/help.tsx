import { Key } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { type Binding, pageBindings } from "../state/keys.ts";

const GROUPS: readonly Binding["group"][] = ["Decide", "Move", "Show", "Go to"];

/** Lists the keyboard shortcuts of the page. */
export function Help({ onClose }: { onClose: () => void }) {
  const bindings = pageBindings();
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} class="dialog-wide">
      <div class="help">
        {GROUPS.map((group) => {
          const rows = merged(bindings.filter((binding) => binding.group === group));
          if (rows.length === 0) return null;
          return (
            <section key={group}>
              <h3 class="quiet small">{group}</h3>
              <dl>
                {rows.map(([label, keys]) => (
                  <div key={label} class="help-row">
                    <dt>{label}</dt>
                    <dd>{keys.map((key) => <Key key={key} keys={key} />)}</dd>
                  </div>
                ))}
              </dl>
            </section>
          );
        })}
      </div>
    </Dialog>
  );
}

/** The keys of decisions, the most used first. */
const FIRST = ["a", "r", "e", "m", "x", "shift+a", "z", "u"];

// Shortcuts with the same label share a row.
function merged(bindings: Binding[]): [string, string[]][] {
  const rows = new Map<string, string[]>();
  for (const { label, keys } of bindings) rows.set(label, [...(rows.get(label) ?? []), keys]);
  return [...rows].sort(([, [a]], [, [b]]) => placeOf(a) - placeOf(b));
}

function placeOf(key: string | undefined): number {
  const place = FIRST.indexOf(key ?? "");
  return place < 0 ? FIRST.length : place;
}

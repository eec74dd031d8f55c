import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { FileDiff } from "../../server/sessions/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { count, number } from "../parts/words.ts";
import { type Folder, listOf, treeOf } from "./folders.ts";
import { linesOf } from "./lines_of.ts";
import { isViewed } from "./viewed.ts";

interface TreeProps {
  files: FileDiff[];
  onOpen: (file: FileDiff) => void;
}

/** The tree shows so many files; the filter finds the others. */
const MOST = 300;

/**
 * The changed files by folder, with their lines and what is viewed. The tree is one stop of the Tab
 * key: the arrow keys move in it.
 */
export function FileTree({ files, onOpen }: TreeProps) {
  const filter = useSignal("");
  const found = files.filter(({ path }) => path.toLowerCase().includes(filter.value.toLowerCase()));
  const tree = useMemo(() => treeOf(found.slice(0, MOST)), [files, filter.value]);
  const at = useSignal<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const order = listOf(tree).map(({ path }) => path);
  const stop = at.value !== null && order.includes(at.value) ? at.value : order[0];
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(order.length - 1, order.indexOf(stop!) + step));
    at.value = order[next]!;
    list.current?.querySelectorAll<HTMLButtonElement>("button")[next]?.focus();
  };
  return (
    <nav class="file-tree" aria-label="Changed files by folder">
      <label class="field file-tree-filter">
        <Icon name="search" />
        <input
          type="search"
          placeholder="Filter files"
          aria-label="Filter the changed files"
          value={filter.value}
          onInput={(event) => filter.value = event.currentTarget.value}
        />
      </label>
      <ul ref={list} onKeyDown={move}>
        <Level
          folder={tree}
          stop={stop ?? null}
          onOpen={(file) => {
            at.value = file.path;
            onOpen(file);
          }}
        />
      </ul>
      {found.length === 0 && <p class="quiet small">No changed file has this in its path.</p>}
      {found.length > MOST && (
        <p class="quiet small">{count(found.length - MOST, "more file")}. Filter to see them.</p>
      )}
    </nav>
  );
}

const STEPS: Record<string, number> = {
  ArrowDown: 1,
  ArrowUp: -1,
  Home: -Infinity,
  End: Infinity,
};

interface LevelProps {
  folder: Folder;
  /** The path of the file that the Tab key stops at. */
  stop: string | null;
  onOpen: (file: FileDiff) => void;
}

function Level({ folder, stop, onOpen }: LevelProps) {
  return (
    <>
      {folder.folders.map((one) => (
        <li key={one.name}>
          <span class="file-tree-folder quiet">
            <Text value={`${one.name}/`} />
          </span>
          <ul>
            <Level folder={one} stop={stop} onOpen={onOpen} />
          </ul>
        </li>
      ))}
      {folder.files.map(({ name, file }) => {
        const { added, removed } = linesOf(file);
        const is_viewed = isViewed(file);
        return (
          <li key={file.path}>
            <button
              type="button"
              class={`file-tree-file ${is_viewed ? "file-viewed" : ""}`}
              tabIndex={file.path === stop ? 0 : -1}
              onClick={() => onOpen(file)}
            >
              <span class="file-tree-name">
                <Text value={name} />
              </span>
              {added > 0 && <span class="figure-add small">+{number(added)}</span>}
              {removed > 0 && <span class="figure-del small">−{number(removed)}</span>}
              <span class="file-tree-mark">
                {is_viewed && <Icon name="check" />}
                {is_viewed && <span class="visually-hidden">viewed</span>}
              </span>
            </button>
          </li>
        );
      })}
    </>
  );
}

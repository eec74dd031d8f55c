import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension, Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { countHidden, segments } from "../../server/shown/visible.ts";

interface EditorProps {
  original: string;
  text: string;
  label: string;
  /** Puts the cursor at the end. */
  isAtEnd: boolean;
  onChange: (text: string) => void;
}

/**
 * An editor that marks the differences from the agent's version. It uses a shadow root, because
 * there CodeMirror adopts style sheets, which the page's CSP allows.
 */
export default function Editor({ original, text, label, isAtEnd, onChange }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const state = EditorState.create({
      doc: text,
      extensions: extensions(original, label, onChange),
    });
    const view = new EditorView({ state, root, parent: root });
    if (isAtEnd) view.dispatch({ selection: { anchor: view.state.doc.length } });
    view.focus();
    return () => view.destroy();
  }, []);
  return <div class="editor" ref={host} />;
}

function extensions(original: string, label: string, onChange: (text: string) => void) {
  const ending = endingOf(original);
  return [
    EditorState.lineSeparator.of(ending),
    lineNumbers(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    highlightSpecialChars({ addSpecialChars: HIDDEN, render: chip }),
    differences(original, ending),
    // The page handles Escape and ⌘↵.
    keymap.of([...defaultKeymap.filter(isOurs), ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.sliceDoc());
    }),
    THEME,
  ];
}

// The merge view would not mark hidden characters of the original, so it stays off for such texts.
function differences(original: string, ending: string): Extension {
  if (countHidden(original.replaceAll(ending, "\n"), { code: true }) > 0) return [];
  return unifiedMergeView({
    original: Text.of(original.split(ending)),
    mergeControls: false,
    allowInlineDiffs: true,
  });
}

// A file with only CRLF line endings keeps them. With mixed endings, each return is visible.
function endingOf(text: string): string {
  return text.includes("\r\n") && !/(?:^|[^\r])\n/.test(text) ? "\r\n" : "\n";
}

const HIDDEN =
  /[\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Default_Ignorable_Code_Point}\u2800\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu;

function isOurs(binding: { key?: string }): boolean {
  return binding.key !== "Mod-Enter" && binding.key !== "Escape";
}

function chip(code: number): HTMLElement {
  const segment = segments(String.fromCodePoint(code))[0]!;
  const mark = document.createElement("span");
  mark.className = "cm-hiddenChip";
  mark.textContent = segment.text;
  mark.title = segment.note ?? "";
  return mark;
}

const THEME = EditorView.theme({
  "&": {
    color: "var(--text)",
    backgroundColor: "var(--surface)",
    fontSize: "12px",
    height: "100%",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-gutters": {
    backgroundColor: "var(--surface)",
    color: "var(--text-2)",
    border: "none",
    borderRight: "1px solid var(--line)",
  },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 8px 0 12px", minWidth: "36px" },
  ".cm-activeLine": { backgroundColor: "var(--surface-2)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { background: "var(--selection)" },
  ".cm-cursor": { borderLeftColor: "var(--text)", borderLeftWidth: "2px" },
  ".cm-hiddenChip": {
    color: "var(--warn)",
    border: "1px solid currentColor",
    borderRadius: "3px",
    padding: "0 2px",
    fontSize: "11px",
  },
  ".cm-changedLine": { backgroundColor: "var(--add) !important" },
  ".cm-changedText": { background: "var(--add-mark) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--del)" },
  ".cm-deletedChunk .cm-deletedText, .cm-deletedText": { background: "var(--del-mark) !important" },
  ".cm-changeGutter": { width: "3px" },
  ".cm-changedLineGutter": { background: "var(--ok)" },
  ".cm-deletedLineGutter": { background: "var(--danger)" },
});

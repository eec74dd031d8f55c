import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

/** A keyboard shortcut; the help dialog shows its label. */
export interface Binding {
  keys: string;
  label: string;
  group: "Decide" | "Move" | "Show" | "Go to";
  run: () => void;
}

/** Shortcuts of one group. */
export function bind(
  group: Binding["group"],
  ...rows: readonly (readonly [keys: string, label: string, run: () => unknown])[]
): Binding[] {
  return rows.map(([keys, label, run]) => ({ keys, label, group, run: () => void run() }));
}

interface Layer {
  bindings: () => Binding[];
  modal: boolean;
  onLetter: ((key: string) => void) | undefined;
}

interface LayerOptions {
  modal?: boolean;
  /** Gets each letter and each "Backspace" of a modal layer whose field is not there yet. */
  onLetter?: (key: string) => void;
}

const SEQUENCE_MS = 1200;
// Only these repeat while held down, so that a long press never decides twice.
const REPEATS = /^(?:j|k|arrow(?:up|down)|(?:shift\+)?space)$/;
const layers = signal<Layer[]>([]);
let prefix: { key: string; until: number } | null = null;

/** Adds shortcuts while the component is mounted. The last modal layer disables all others. */
export function useKeys(bindings: Binding[], options: LayerOptions = {}): void {
  const current = useRef(bindings);
  current.current = bindings;
  // A layout effect runs before the next key press.
  useLayoutEffect(() => {
    const layer: Layer = {
      bindings: () => current.current,
      modal: options.modal === true,
      onLetter: options.onLetter,
    };
    layers.value = [...layers.peek(), layer];
    return () => {
      layers.value = layers.peek().filter((other) => other !== layer);
    };
  }, []);
}

// A page that loads under an open dialog adds its layer later, and gets no key either.
function modalLayer(): Layer | undefined {
  return layers.value.findLast((layer) => layer.modal);
}

/** The shortcuts that work now. */
function activeBindings(): Binding[] {
  const modal = modalLayer();
  return modal ? modal.bindings() : layers.value.flatMap((layer) => layer.bindings());
}

/** The shortcuts of the page below any dialog. */
export function pageBindings(): Binding[] {
  return layers.value.filter((layer) => !layer.modal).flatMap((layer) => layer.bindings());
}

/** Listens to the keyboard; returns how to stop. */
export function openKeys(): () => void {
  addEventListener("keydown", handle);
  return () => removeEventListener("keydown", handle);
}

function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const key = nameOf(event);
  const { onLetter } = modalLayer() ?? {};
  // The focus may still be in a field below the dialog.
  if (onLetter && isLetter(event)) {
    event.preventDefault();
    return onLetter(event.key);
  }
  if (isTyping(event) && !key.startsWith("mod+") && key !== "escape") return;
  if ((key === "enter" || key === "space") && isControl(event)) return;
  const sequence = prefix && performance.now() < prefix.until ? `${prefix.key} ${key}` : null;
  prefix = null;
  const bindings = activeBindings();
  const match = bindings.findLast((binding) => binding.keys === sequence) ??
    bindings.findLast((binding) => binding.keys === key);
  if (match) {
    event.preventDefault();
    if (!event.repeat || REPEATS.test(key)) match.run();
  } else if (bindings.some((binding) => binding.keys.startsWith(`${key} `))) {
    prefix = { key, until: performance.now() + SEQUENCE_MS };
  }
}

// Shift is part of the name of a letter; a sign such as "?" already includes it.
function nameOf(event: KeyboardEvent): string {
  const key = event.key === " " ? "space" : event.key.toLowerCase();
  const shift = event.shiftKey && (/^[a-z]$/.test(key) || key.length > 1) ? "shift+" : "";
  return (event.metaKey || event.ctrlKey ? "mod+" : "") + shift + key;
}

function isLetter({ key, metaKey, ctrlKey }: KeyboardEvent): boolean {
  return !metaKey && !ctrlKey && (key.length === 1 || key === "Backspace");
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  if (target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !/^(checkbox|radio|button)$/.test(target.type);
}

function isControl(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  // On the selected row, Enter and Space belong to its card.
  const control = target.closest("button, a, summary, label");
  return control !== null && control.getAttribute("aria-current") !== "true";
}

const MAC = /mac|iphone|ipad/i.test(navigator.platform);
const SIGNS: Record<string, string> = {
  "arrowdown": "Down",
  "arrowup": "Up",
  "enter": "Enter",
  "escape": "Esc",
  "space": "Space",
};

/** A shortcut as keyboards label it: "⌘K", "Ctrl+K", "g a". */
export function showKey(keys: string): string {
  return keys.split(" ").map((part) => {
    const names = part.split("+").map((name) => {
      if (name === "mod") return MAC ? "⌘" : "Ctrl+";
      if (name === "shift") return MAC ? "⇧" : "Shift+";
      return SIGNS[name] ?? (/^(?:mod|shift)\+/.test(part) ? name.toUpperCase() : name);
    });
    return names.join("");
  }).join(" ");
}

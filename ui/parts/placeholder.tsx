import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { provenKey } from "../state/auth.ts";
import { loadStyles, type Styles } from "../state/code.ts";
import { connection } from "../state/events.ts";
import { bind, useKeys } from "../state/keys.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Text } from "./text.tsx";
import { number } from "./words.ts";

interface EmptyProps {
  icon: IconName;
  title: string;
  children: ComponentChildren;
}

/** An empty state: what appears here, and how to make it appear. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface FailedProps {
  title: string;
  problem: string;
  children?: ComponentChildren;
}

/** Says that something cannot be shown, and why. */
export function Failed({ title, problem, children }: FailedProps) {
  return (
    <Empty icon="alert" title={title}>
      <Text as="p" value={problem} />
      {children}
    </Empty>
  );
}

interface MoreProps {
  /** The rest that is not shown: "5 more files". */
  rest: string;
  /** The number of items that the button adds. */
  next: number;
  onMore: () => void;
}

/** Names the rest of a long list, with a button for its next part. */
export function More({ rest, next, onMore }: MoreProps) {
  return (
    <div class="more">
      <span>{rest} not shown yet.</span>
      <button type="button" class="link" onClick={onMore}>Show the next {number(next)}</button>
    </div>
  );
}

/**
 * A value from a separate chunk; null until it and its styles are loaded. The daemon proves itself
 * first: a chunk from another program would run with everything that this page holds. A chunk that
 * failed is loaded again when the daemon answers again.
 */
export function useLazy<T>(
  load: () => Promise<T>,
  styles: Styles = "all",
): { value: T | null; failed: boolean } {
  const known = loaded.get(load) as T | undefined;
  const [state, setState] = useState<{ value: T | null; failed: boolean }>({
    value: known ?? null,
    failed: false,
  });
  const isLive = connection.value === "live";
  useEffect(() => {
    if (state.value !== null) return;
    let mounted = true;
    provenKey().then(() => Promise.all([load(), loadStyles(styles)])).then(
      ([value]) => {
        loaded.set(load, value);
        if (mounted) setState({ value, failed: false });
      },
      () => mounted && setState({ value: null, failed: true }),
    );
    return () => {
      mounted = false;
    };
  }, [isLive]);
  return state;
}

/** The value that each function has loaded, which needs no daemon the next time. */
const loaded = new WeakMap<() => Promise<unknown>, unknown>();

/** Stands in for a chunk that is loading or failed to load. */
export function Waiting({ failed }: { failed: boolean }) {
  if (!failed) return <Skeleton lines={8} />;
  return (
    <p class="notice tone-danger" role="alert">
      A part of this page could not be loaded; the daemon may have been updated. Reload the page.
    </p>
  );
}

interface LoadingProps {
  failed: boolean;
  onClose: () => void;
  /** Gets what a person types for a field of the dialog. */
  onLetter?: (key: string) => void;
}

/** Stands in for a dialog whose chunk is loading: the page gets no key that is meant for it. */
export function LoadingDialog({ failed, ...props }: LoadingProps) {
  useLoadingKeys(props);
  return failed ? <Waiting failed /> : null;
}

/** Stands in for a pane with a field whose chunk is loading: the page gets no key either. */
export function LoadingPane({ failed, ...props }: LoadingProps) {
  useLoadingKeys(props);
  return <Waiting failed={failed} />;
}

function useLoadingKeys({ onClose, onLetter }: Omit<LoadingProps, "failed">): void {
  useKeys(bind("Show", ["escape", "Close", onClose]), {
    modal: true,
    ...onLetter && { onLetter },
  });
}

/** The text that a person types before the field for it is there. */
export function useTypedAhead(): { text: string; onLetter: (key: string) => void } {
  const typed = useRef("");
  const onLetter = (key: string) => {
    typed.current = key === "Backspace" ? typed.current.slice(0, -1) : typed.current + key;
  };
  return { text: typed.current, onLetter };
}

const PATIENCE_MS = 300;

/** The outline of content that is still loading; appears after 300 ms. */
export function Skeleton({ lines }: { lines: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!late) return <div class="skeleton" aria-busy="true" />;
  return (
    <div class="skeleton" role="status" aria-busy="true">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, at) => <div key={at} class="skeleton-line" />)}
    </div>
  );
}

import { useEffect, useState } from "preact/hooks";
import { Skeleton } from "./skeleton.tsx";

/** A value that arrives with a chunk of its own; null until it is there. */
export function useLazy<T>(load: () => Promise<T>): { value: T | null; failed: boolean } {
  const [state, setState] = useState<{ value: T | null; failed: boolean }>({
    value: null,
    failed: false,
  });
  useEffect(() => {
    let mounted = true;
    load().then(
      (value) => mounted && setState({ value, failed: false }),
      () => mounted && setState({ value: null, failed: true }),
    );
    return () => {
      mounted = false;
    };
  }, []);
  return state;
}

/** What stands where a chunk is missing: a skeleton, or how to go on. */
export function Waiting({ failed }: { failed: boolean }) {
  if (!failed) return <Skeleton lines={8} />;
  return (
    <p class="notice tone-danger" role="alert">
      A part of this page could not be loaded; the daemon may have been updated. Reload the page.
    </p>
  );
}

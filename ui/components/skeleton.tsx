import { useEffect, useState } from "preact/hooks";

const PATIENCE_MS = 300;

/** The shape of what comes, shown only when it is late. */
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

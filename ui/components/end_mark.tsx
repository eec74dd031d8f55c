import { useEffect, useRef } from "preact/hooks";

/** Stands after the last line of what would be done, and tells when a reader has got there. */
export function EndMark({ onSeen }: { onSeen: () => void }) {
  const mark = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) onSeen();
    });
    observer.observe(mark.current!);
    return () => observer.disconnect();
  }, [onSeen]);
  return <div ref={mark} class="end-mark" aria-hidden="true" />;
}

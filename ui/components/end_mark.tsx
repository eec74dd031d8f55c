import { useEffect, useRef } from "preact/hooks";

interface EndMarkProps {
  /** False while something before it is held back. */
  whole: boolean;
  onReport: (seen: boolean) => void;
}

/** Stands after the last line of what would be done, and tells whether a reader has got there. */
export function EndMark({ whole, onReport }: EndMarkProps) {
  const mark = useRef<HTMLDivElement>(null);
  const report = useRef(onReport);
  report.current = onReport;
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      report.current(whole && entries.some((entry) => entry.isIntersecting));
    });
    observer.observe(mark.current!);
    return () => observer.disconnect();
  }, [whole]);
  return <div ref={mark} class="end-mark" aria-hidden="true" />;
}

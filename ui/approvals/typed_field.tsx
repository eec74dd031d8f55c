import { useLayoutEffect, useRef } from "preact/hooks";
import { Code } from "../parts/text.tsx";
import type { Review } from "./review.ts";

/** The name of the file or program, typed by the person where the risk asks for it. */
export function TypedField({ review, onEnter }: { review: Review; onEnter: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const wanted = review.detail.value?.confirmation ?? null;
  if (wanted === null) return null;
  return (
    <div class="field">
      <label for="typed-confirmation">
        Type <Code value={wanted} /> to approve
      </label>
      <input
        id="typed-confirmation"
        ref={field}
        type="text"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={review.typed.value}
        onInput={(event) => review.typed.value = event.currentTarget.value}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !review.isTyped.peek() || event.isComposing) return;
          event.preventDefault();
          onEnter();
        }}
      />
    </div>
  );
}

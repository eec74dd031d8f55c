import { useState } from "preact/hooks";
import type { Content } from "./read.ts";
import { check } from "./state.ts";

/** Where a reader says what they know from elsewhere. */
export function Compare({ content }: { content: Content }) {
  const [typed, setTyped] = useState("");
  return (
    <form
      class="compare"
      onSubmit={(event) => {
        event.preventDefault();
        void check(content, typed);
      }}
    >
      <label for="known">
        A key or a checkpoint that you have from elsewhere (<code>gate audit checkpoint</code>)
      </label>
      <div class="row">
        <input
          id="known"
          value={typed}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit">Compare</button>
      </div>
    </form>
  );
}

import { Icon } from "./icon.tsx";
import { number } from "./words.ts";

/** Tells that people rejected some of the actions that would now be allowed. */
export function RejectedOnes({ rejected }: { rejected: number }) {
  if (rejected === 0) return null;
  return (
    <p class="tone-danger small rejected-ones">
      <Icon name="alert" />
      <span>A person rejected {rejected === 1 ? "one" : number(rejected)} of these.</span>
    </p>
  );
}

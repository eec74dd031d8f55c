import { Icon } from "./icon.tsx";
import { Text } from "./text.tsx";
import { number } from "./words.ts";

/** Why something could not be looked up or is not accepted; announced when it appears. */
export function Problem({ problem }: { problem: string | null }) {
  return (
    <div role="alert">
      {problem !== null && (
        <p class="notice tone-danger">
          <Icon name="alert" />
          <Text as="span" value={problem} />
        </p>
      )}
    </div>
  );
}

/** Tells that people rejected some of the actions that would now be allowed. */
export function RejectedOnes({ rejected }: { rejected: number }) {
  if (rejected === 0) return null;
  return (
    <p class="tone-danger small impact-rejected">
      <Icon name="alert" />
      <span>A person rejected {rejected === 1 ? "one" : number(rejected)} of these.</span>
    </p>
  );
}

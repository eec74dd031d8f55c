import { Icon } from "./icon.tsx";
import { Text } from "./text.tsx";

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

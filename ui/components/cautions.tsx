import type { Caution } from "../review.ts";
import { Icon } from "./icon.tsx";
import { Text } from "./text.tsx";

/** Why to look twice before approving. */
export function Cautions({ cautions }: { cautions: Caution[] }) {
  return (
    <ul class="cautions">
      {cautions.map(({ kind, what, why }) => (
        <li key={kind}>
          <Icon name={kind === "critical" ? "octagon" : "alert"} />
          <span>
            <strong>{what}.</strong> <Text value={why} />
          </span>
        </li>
      ))}
      {cautions.length === 0 && (
        <li class="tone-ok">
          <Icon name="check" />
          <span>Nothing is left to look at.</span>
        </li>
      )}
    </ul>
  );
}

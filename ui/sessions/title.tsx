import type { ListedSession } from "../../server/sessions/schema.ts";
import { Text } from "../parts/text.tsx";
import { plain, sentenceOf } from "../parts/words.ts";

/** Branches that say nothing about the work. */
const EVERYDAY = new Set(["main", "master", "trunk", "develop"]);

/** What a session is about: its branch, and the first thing that its agent wanted to do. */
export function SessionTitle({ session }: { session: ListedSession }) {
  const { branch, first_action } = session;
  const isNamed = branch !== null && !EVERYDAY.has(branch);
  const first = first_action ? plain(sentenceOf(first_action)) : "No action yet";
  return (
    <span class="sentence session-title">
      {isNamed && <Text as="span" class="session-branch" value={branch} />}
      <Text as="span" class={isNamed ? "ellipsis quiet" : "ellipsis"} value={first} />
    </span>
  );
}

import type { ListedSession } from "../../server/sessions/schema.ts";
import { Text } from "../parts/text.tsx";
import { plain, sentenceOf } from "../parts/words.ts";

/** Branches that say nothing about the work. */
const EVERYDAY = new Set(["main", "master", "trunk", "develop"]);

interface TitleProps {
  session: ListedSession;
  /** The person's first request, where the agent's own record tells it. */
  request?: string | null;
}

/** What a session is about: its branch, and its first request or the first thing that it did. */
export function SessionTitle({ session, request = null }: TitleProps) {
  const { branch, first_action } = session;
  const isNamed = branch !== null && !EVERYDAY.has(branch);
  const first = request ?? (first_action ? plain(sentenceOf(first_action)) : "No action yet");
  return (
    <span class="sentence session-title">
      {isNamed && <Text as="span" class="session-branch" value={branch} />}
      <Text as="span" class={isNamed ? "ellipsis quiet" : "ellipsis"} value={first} />
    </span>
  );
}

import type { Message } from "../schema.ts";

/** So many people are named or mentioned; the text of a chat has a limit. */
const MOST_NAMED = 10;

/** The lines of a message that gate wrote. Their values have no characters that markup reads. */
export function factsOf({ project_id, risk, deadline, asked }: Message): [string, string][] {
  return [
    ["Project", project_id],
    ...risk === null ? [] : [["Risk", risk] as [string, string]],
    ...asked.length === 0 ? [] : [["Asked", namesOf(asked)] as [string, string]],
    ...deadline === null ? [] : [["Expires", deadline] as [string, string]],
  ];
}

/** The members that a chat mentions, the first ones of many. */
export function mentioned({ to }: Message): string[] {
  return to.slice(0, MOST_NAMED);
}

function namesOf(ids: readonly string[]): string {
  const more = ids.length - MOST_NAMED;
  const first = ids.slice(0, MOST_NAMED).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}

/** So many digits of a UUID of version 7 stand for about four and a half hours. */
const DIGITS = 6;

/** The first digits of an action's id: those of actions that were asked for at about that time. */
export function prefixOf(action_id: string): string {
  return action_id.slice(0, DIGITS).toLowerCase();
}

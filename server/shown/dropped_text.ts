/** Why a content of an action is gone. */
export function droppedText(what: string, at: string): string {
  return `${what} was dropped on ${at.slice(0, 10)} by the retention of this machine`;
}

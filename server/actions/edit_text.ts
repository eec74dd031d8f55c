import { GateError } from "../errors.ts";

/** One replacement; the old text must occur exactly once. */
export interface Edit {
  old_text: string;
  new_text: string;
}

/** The text after all edits, in their order. @throws GateError `invalid`, naming the edit that fails */
export function editText(text: string, edits: readonly Edit[], limit: number): string {
  return edits.reduce((now, { old_text, new_text }, index) => {
    const at = now.indexOf(old_text);
    const where = `edit ${index + 1} of ${edits.length}`;
    if (at === -1) throw refused(`${where}: its old_text does not occur in the file`);
    if (now.indexOf(old_text, at + 1) !== -1) {
      throw refused(
        `${where}: its old_text occurs more than once; include more of what is around it`,
      );
    }
    if (now.length - old_text.length + new_text.length > limit) {
      throw refused(`${where}: the file would become too large`);
    }
    return now.slice(0, at) + new_text + now.slice(at + old_text.length);
  }, text);
}

function refused(why: string): GateError {
  return new GateError("invalid", `Cannot edit the file: ${why}`);
}

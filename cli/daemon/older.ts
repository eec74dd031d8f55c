import { VERSION } from "../../server/constants.ts";
import { isSameProcess } from "../../server/runtime/processes.ts";
import { type Place, readDaemonFile } from "../place.ts";

/** The daemon of this home that is of an older release than this program; null if there is none. */
export function findOlder(place: Place): { pid: number; version: string } | null {
  const said = readDaemonFile(place.home);
  return said && isOlder(said.version, VERSION) && isSameProcess(said) ? said : null;
}

/** Whether `version` is the older release; what follows the three numbers does not count. */
export function isOlder(version: string, than: string): boolean {
  const numbers = (text: string) => text.split(/[.+-]/, 3).map((part) => Number(part) || 0);
  const [first, second] = [numbers(version), numbers(than)];
  const differs = [0, 1, 2].find((at) => (first[at] ?? 0) !== (second[at] ?? 0));
  return differs !== undefined && (first[differs] ?? 0) < (second[differs] ?? 0);
}

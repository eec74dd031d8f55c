import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import type { Operation } from "../operation.ts";
import { PLACES, placesOf } from "./injection.ts";
import { tell } from "./resource.ts";

/**
 * Each is twice the work of the one before for a pattern that tries every way to split, so the first
 * slow one ends long before the time limit and holds nobody else up.
 */
const LENGTHS = Array.from({ length: 12 }, (_, n) => 19 + n);
/** Texts that almost match a pattern for a name, a mail address or a number. */
const UNITS = ["a", "1"];

/** Texts of growing length that a backtracking pattern takes seconds to refuse. */
export function slowPattern(operation: Operation): Draft[] {
  return placesOf(operation).filter(({ isNumber }) => !isNumber).slice(0, PLACES).map((place) =>
    tell(operation, {
      family: "slow_pattern",
      title: `Keeping ${nameOf(operation)} busy with a short ${place.name}`,
      who:
        "An attacker sends a text that almost matches, and the service counts its ways to split.",
      steps: [
        `Send a ${place.name} of ${LENGTHS[0]} to ${LENGTHS.at(-1)} equal characters and another`,
        "Where it is slow, send a short one, and the slow one once more",
      ],
      chaos: ["A pattern repeats what is repeated already, such as (a+)+"],
      expected: "The text is refused as fast as any other.",
      failures: ["A few requests keep every processor busy"],
      priority: "high",
    }, {
      steps: UNITS.flatMap((unit) => {
        const { path, body } = place.request(`${unit}!`);
        const shows = "a pattern tries every way to split the text";
        const quick = { path, ...(body === undefined ? {} : { body }), shows };
        return LENGTHS.map((length): PlaybookStep => ({
          ...place.request(`${unit.repeat(length)}!`),
          name: `${length} times "${unit}" and a "!" as ${place.name}`,
          quick,
        }));
      }),
    })
  );
}

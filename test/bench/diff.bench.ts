import { createDiff } from "../../ui/diff/diff_model.ts";
import { LARGE_PAIRS } from "../server/shown/large_pairs.ts";
import { compare } from "./figures.ts";

const BAR = { most: 300, unit: "ms" };
const ROUNDS = 5;

/** Times the page's comparison of texts of 10,000 lines, the best of some rounds each. */
export function bench(): void {
  for (const [what, before, after] of LARGE_PAIRS) {
    const [a, b] = [before.join("\n"), after.join("\n")];
    const times = Array.from({ length: ROUNDS }, () => {
      const start = performance.now();
      createDiff(a, b);
      return performance.now() - start;
    });
    compare(`10,000 lines, ${what}`, Math.min(...times), BAR);
  }
}

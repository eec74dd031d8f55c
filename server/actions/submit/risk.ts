import type { RiskSettings } from "../../policy/risk_weights.ts";
import type { Analysis } from "../../policy/schema.ts";
import { assessRisk } from "../../risk/assess.ts";
import { MAX_SEARCHED } from "../../risk/contents.ts";
import type { ChangeFacts, Circumstances, RiskFacts } from "../../risk/facts.ts";
import type { Risk } from "../../risk/schema.ts";
import { type Content, textOf } from "../contents.ts";
import type { Plan, PlannedChange } from "../plan.ts";
import { executorOf } from "../tools.ts";

/** An evaluated and planned action, as far as its risk depends on it. */
export interface RiskParts {
  plan: Plan;
  /** The contents that the plan refers to, as far as they are at hand. */
  contents: readonly Content[];
  decision: RiskFacts["decision"];
  analysis: Analysis | null;
  root: string;
  user_home: string;
  /** Why a rollback could not restore the old files. */
  irreversible: string | null;
  circumstances: Circumstances;
  settings: RiskSettings;
}

/** The risk of an action. Equal parts give equal scores, and each part of the sum is explained. */
export function assessAction({ plan, contents, ...parts }: RiskParts): Risk {
  const { tool, input, command, cwd, accesses } = plan;
  const executor = executorOf({ tool, plan });
  const is_foreign = (executor === "nobody" || executor === "host") && accesses.length === 0 &&
    command === null;
  return assessRisk({
    ...parts,
    ...{ tool, input, is_foreign, command, cwd },
    accesses: accesses.map(({ access, target: { real, shown } }) => ({
      access,
      path: real,
      shown,
    })),
    changes: plan.changes.map((change) => changeFacts(change, contents)),
  });
}

function changeFacts(
  { path, shown, before, after, guessed }: PlannedChange,
  contents: readonly Content[],
): ChangeFacts {
  const new_text = after && !guessed ? textIn(contents, after.sha256) : null;
  const oldText = () => before && textIn(contents, before.sha256);
  return { path, shown, before, after, new_text, oldText };
}

/** The text of a content that is at hand and short enough to be searched. */
function textIn(contents: readonly Content[], sha256: string): string | null {
  const found = contents.find((one) => one.sha256 === sha256)?.content;
  return found instanceof Uint8Array && found.length <= MAX_SEARCHED ? textOf(found) : null;
}

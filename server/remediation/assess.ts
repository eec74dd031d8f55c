import type { Ledger } from "../db/ledger.ts";
import { levelOf } from "../risk/assess.ts";
import type { Risk } from "../risk/schema.ts";
import {
  counted,
  isDone,
  isGrave,
  readDeeds,
  type RemediationSource,
  requireDeed,
  secretOf,
} from "./deeds.ts";
import type { AssessInput } from "./schema.ts";
import { countLater, type Deed } from "./store.ts";

/** The rollback of a session looks for later changes of this many actions at most. */
const MOST_COMPARED = 200;

type Factor = Risk["factors"][number];

/** The risk of an action or a session, or of rolling it back. @throws GateError `not_found` */
export async function assess(
  source: RemediationSource,
  { action_id, session_id, rollback = false }: AssessInput,
): Promise<Risk> {
  if (action_id !== undefined) {
    const deed = await requireDeed(source.ledger, action_id);
    return rollback ? await rollbackRisk(source.ledger, [deed]) : deed.risk;
  }
  const deeds = await readDeeds(source, session_id!);
  return rollback ? await rollbackRisk(source.ledger, deeds.filter(isDone)) : sessionRisk(deeds);
}

/** The riskiest action counts in full, and what the others add is explained. */
function sessionRisk(deeds: readonly Deed[]): Risk {
  const [worst] = deeds.toSorted((a, b) => b.risk.score - a.risk.score);
  const others = deeds.filter((deed) => deed !== worst && isGrave(deed)).length;
  const denied = deeds.filter(({ status }) => status === "blocked").length;
  const lost = deeds.filter((deed) => isDone(deed) && !deed.reversible && isGrave(deed)).length;
  const secrets = deeds.filter((deed) => deed.effect !== "deny" && secretOf(deed) !== null).length;
  return riskOf([
    { name: "riskiest_action", weight: worst?.risk.score ?? 0, why: `action ${worst?.id}` },
    {
      name: "more_risky_actions",
      weight: Math.min(15, 3 * others),
      why: `${counted(others, "more action")} of high or critical risk`,
    },
    {
      name: "denied",
      weight: Math.min(15, denied),
      why: `policy denied ${counted(denied, "action")}`,
    },
    {
      name: "not_reversible",
      weight: Math.min(10, 5 * lost),
      why: `${counted(lost, "risky action")} cannot be rolled back`,
    },
    {
      name: "secrets",
      weight: Math.min(10, 5 * secrets),
      why: `${counted(secrets, "action")} touched secrets`,
    },
  ]);
}

/** The risk that a rollback loses work. */
async function rollbackRisk(ledger: Ledger, deeds: readonly Deed[]): Promise<Risk> {
  const own = new Set(deeds.map(({ id }) => id));
  const open = deeds.filter((deed) => !isDone(deed)).length;
  const lasting = deeds.filter((deed) => isDone(deed) && !deed.reversible).length;
  const made =
    deeds.flatMap(({ changes }) => changes.filter(({ before }) => before === null)).length;
  const files = new Set(deeds.flatMap(({ changes }) => changes.map(({ path }) => path))).size;
  let later = 0;
  for (const deed of deeds.slice(0, MOST_COMPARED)) {
    if (deed.path === null || deed.changes.length === 0) continue;
    const own_later = deeds.filter(({ path, seq, id }) =>
      path === deed.path && seq > deed.seq && own.has(id)
    ).length;
    if (await countLater(ledger, deed) > own_later) later++;
  }
  const commands = deeds.filter(({ command, reversible }) => command !== null && reversible).length;
  return riskOf([
    {
      name: "nothing_done",
      weight: open > 0 ? 30 : 0,
      why: `${open} actions were not carried out`,
    },
    {
      name: "not_reversible",
      weight: lasting > 0 ? 50 : 0,
      why: `${lasting} actions cannot be rolled back`,
    },
    {
      name: "changed_later",
      weight: later > 0 ? 40 : 0,
      why: `later actions changed the files of ${later} of them`,
    },
    {
      name: "deletes",
      weight: Math.min(20, 2 * made),
      why: `${made} files that were created are deleted`,
    },
    {
      name: "commands",
      weight: commands > 0 ? 10 : 0,
      why: `of ${commands} commands only the files that gate kept are restored`,
    },
    {
      name: "many_files",
      weight: files > 20 ? 15 : files > 0 ? 3 : 0,
      why: `${files} files change`,
    },
  ]);
}

function riskOf(factors: Factor[]): Risk {
  const counted = factors.filter(({ weight }) => weight > 0);
  const score = Math.min(100, counted.reduce((sum, { weight }) => sum + weight, 0));
  return { score, level: levelOf(score), factors: counted };
}

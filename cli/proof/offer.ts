import { existsSync } from "node:fs";
import { join } from "node:path";
import { configuredProof, namesServer } from "../../server/config/approvals.ts";
import { findDaemon } from "../daemon/find.ts";
import { CliError } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { placeOf } from "../place.ts";
import { print, say } from "../terminal/output.ts";
import { isConfirmed } from "../terminal/prompts.ts";
import { visibleLine } from "../terminal/visible.ts";
import { setPassphrase } from "./enrol.ts";
import { readProof } from "./prover.ts";

/**
 * Offers a person at a terminal to set a passphrase, if this home has no proof yet; without `asks`
 * it prints the next step. Declining is no failure.
 */
export async function offerPassphrase(io: Io, { asks }: { asks: boolean }): Promise<void> {
  if (!await isMissing(io)) return;
  if (namesServer(placeOf(io).home)) return say(io, `  ${JOIN_STEP}`);
  if (!asks || !isInteractive(io)) return say(io, `  ${NEXT_STEP}`);
  const question = "Set a passphrase for approvals now? Nothing can be approved without a proof.";
  if (!await isConfirmed(io, question, true)) return say(io, `Skipped. ${NEXT_STEP}`);
  try {
    await setPassphrase(io, {});
    print(io, "The passphrase is set. gate approve and the dashboard ask for it.");
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    say(io, `${visibleLine(error.message.split("\n")[0]!)}\nSkipped. ${NEXT_STEP}`);
  }
}

/** Prints the next step if this home has no proof yet. */
export async function remindOfProof(io: Io): Promise<void> {
  await offerPassphrase(io, { asks: false });
}

const NEXT_STEP = "Next: gate proof set, because nothing can be approved without a proof";

/** A home that has a key of its own cannot join other machines. */
const JOIN_STEP =
  "Next: gate hub join --shared if other machines share this project (it takes over " +
  "their passphrase); else gate proof set";

/** Whether nothing decides yet. A stopped daemon with data may have a proof, so nobody is asked. */
async function isMissing(io: Io): Promise<boolean> {
  const place = placeOf(io);
  if (await findDaemon(place)) {
    const { kind, open } = await readProof(io, { start: false });
    return kind === "none" && !open;
  }
  return !existsSync(join(place.home, "gate.db")) && configuredProof(place.home) !== "token";
}

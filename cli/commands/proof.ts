import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import type { ProofStatus } from "../../server/proof/schema.ts";
import { openConnection } from "../daemon/connect.ts";
import { createLoginLink, showLink } from "../daemon/dashboard_link.ts";
import { EXIT, Exit } from "../errors.ts";
import type { Io } from "../io.ts";
import { examples } from "../options.ts";
import { describeKey, describeProof, takeBack } from "../proof/describe.ts";
import { changePassphrase, setPassphrase } from "../proof/enrol.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview, readProof } from "../proof/prover.ts";
import { paint, print, printJson, say } from "../terminal/output.ts";
import { visibleText } from "../terminal/visible.ts";
import { sayStepBacks, witnessAll } from "../witness/witness.ts";

/** `gate proof`: how a person proves that they decide, and not a program. */
export function createCommand(io: Io) {
  const proof = new Command("proof")
    .description(
      "Show or change the proof that a decision needs: a passphrase or a passkey that no program " +
        "of this machine knows.",
    )
    .addHelpText("after", HELP);
  proof.command("status")
    .description("Show the kind of proof and the enrolled key.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate proof status", "gate proof status --json | jq .kind"))
    .action(async ({ json }) => {
      const status = await readProof(io);
      sayStepBacks(io, await witnessAll(io, await openConnection(io, { scope: "viewer" })));
      if (json) printJson(io, status);
      else print(io, describeStatus(io, status));
      if (status.problem !== null) throw new Exit(EXIT.failed);
    });
  proof.command("set")
    .description("Set a passphrase. From then on every approval needs it.")
    .option("--passkey", "print a link to the dashboard, where you set a passkey instead")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate proof set", "gate proof set --passkey"))
    .action(async ({ passkey, json, passphraseStdin }) => {
      if (passkey) return await linkToPasskey(io, json ?? false);
      const status = await setPassphrase(io, { passphraseStdin });
      report(io, { status, json, done: "Set. Every approval needs this passphrase now." });
      if (!json) say(io, "  Nobody can recover it. With it, gate proof change sets another one.");
    });
  addChanging(proof, io);
  return proof;
}

function addChanging(proof: Command, io: Io): void {
  proof.command("change")
    .description("Replace the passphrase; needs the present one.")
    .option(PASSPHRASE_STDIN[0], "read two lines: the present passphrase, then the new one")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate proof change"))
    .action(async ({ json, passphraseStdin }) => {
      const status = await changePassphrase(io, { passphraseStdin });
      report(io, { status, json, done: "Changed. The old passphrase is not valid any more." });
    });
  proof.command("remove")
    .description("Remove the proof; needs it. Nothing can be approved until another one is set.")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate proof remove"))
    .action(async ({ json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin });
      const status = await unwrap(client.api.proof.remove.$post({ json: {} }));
      report(io, { status, json, done: "Removed. Set another one: gate proof set" });
    });
}

interface Report {
  status: ProofStatus;
  json: boolean | undefined;
  done: string;
}

function report(io: Io, { status, json, done }: Report): void {
  if (json) printJson(io, status);
  else print(io, `${paint(io, "green", "✓")} ${done}`);
}

/** A browser makes the passkey, so the dashboard sets it. */
async function linkToPasskey(io: Io, json: boolean): Promise<void> {
  const { client } = await openConnection(io, { scope: "reviewer" });
  const url = await createLoginLink(client);
  if (json) return printJson(io, { url });
  say(io, "Set the passkey in the dashboard:");
  await showLink(io, url, true);
}

function describeStatus(io: Io, status: ProofStatus): string {
  const { enrolled, problem, unlock_seconds } = status;
  const lines = [paint(io, enrolled.length > 0 ? "green" : "yellow", describeProof(status))];
  if (problem !== null) lines.push(paint(io, "red", `✗ ${visibleText(problem)}`));
  if (unlock_seconds !== null) lines.push(`  unlocked for at most ${unlock_seconds} s`);
  for (const key of enrolled) lines.push(`  ${describeKey(key)}`);
  if (enrolled.length > 0) lines.push(takeBack(io));
  return lines.join("\n");
}

const HELP = `
The passphrase derives a signing key. The key exists only in the memory of the terminal or page that
asked; gate stores the public part. Keep the passphrase in a password manager, not in a file.

Automation:
  --passphrase-stdin            on every command that decides: reads it from standard input
  "approvals": {"proof": "token"}  in the global config of a new home: the reviewer's token decides
  gate daemon start --auth none    with GATE_HOME set to a throw-away folder: asks for no proof

Examples:
  gate proof set
  gate proof status
  pass show gate | gate approve 0199a1b2 --passphrase-stdin
`;

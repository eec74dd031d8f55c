import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import type { ProofStatus } from "../../server/proof/schema.ts";
import { openConnection } from "../daemon/connect.ts";
import { createLoginLink, showLink } from "../daemon/dashboard_link.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import type { Io } from "../io.ts";
import { examples } from "../options.ts";
import { describeKey, describeProof, takeBack } from "../proof/describe.ts";
import { changePassphrase, setMemberPassphrase, setPassphrase } from "../proof/enrol.ts";
import { AS, PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview, readProof } from "../proof/prover.ts";
import { paint, print, printJson, say } from "../terminal/output.ts";
import { visibleText } from "../terminal/visible.ts";
import { quote } from "../../server/shown/quote.ts";
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
    .option("--member <id>", "only the key of this member; exits with 1 if they have none")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate proof status", "gate proof status --json | jq .kind"))
    .action(async ({ json, member }) => {
      const status = await readProof(io);
      if (member !== undefined) return showMember(io, status, { member, json });
      sayStepBacks(io, await witnessAll(io, await openConnection(io, { scope: "viewer" })));
      if (json) printJson(io, status);
      else print(io, describeStatus(io, status));
      if (status.problem !== null) throw new Exit(EXIT.failed);
    });
  proof.command("set")
    .description(
      "Set a passphrase. From then on every approval needs it. A member sets one of their own.",
    )
    .option("--passkey", "print a link to the dashboard, where you set a passkey instead")
    .option("--member <id>", "set the passphrase of this member; an admin proves first")
    .option("--link <url>", "with --member: their login link, in place of the admin's proof")
    .option("--as <member>", "with --member: the admin who proves it")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples("gate proof set", "gate proof set --passkey", "gate proof set --member ann"),
    )
    .action(async ({ passkey, member, link, as, json, passphraseStdin }) => {
      if (member === undefined && (link !== undefined || as !== undefined)) throw memberMissing();
      if (passkey) return await linkToPasskey(io, json ?? false);
      if (member !== undefined) {
        const status = await setMemberPassphrase(io, { member, link, as, passphraseStdin });
        const done = `Set. Every approval of ${visibleText(member)} needs this passphrase now.`;
        return report(io, { status, json, done });
      }
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
    .option("--member <id>", "replace the passphrase of this member, with their present one")
    .option(PASSPHRASE_STDIN[0], "read two lines: the present passphrase, then the new one")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate proof change"))
    .action(async ({ member, json, passphraseStdin }) => {
      const status = await changePassphrase(io, { member, passphraseStdin });
      report(io, { status, json, done: "Changed. The old passphrase is not valid any more." });
    });
  proof.command("remove")
    .description("Remove the proof; needs it. Nothing can be approved until another one is set.")
    .option("--member <id>", "remove the key of this member only; an admin proves it")
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate proof remove"))
    .action(async ({ member, as, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin, as });
      const given = member === undefined ? {} : { member_id: member };
      const status = await unwrap(client.api.proof.remove.$post({ json: given }));
      const next = `gate proof set${
        member === undefined ? "" : ` --member ${visibleText(member)}`
      }`;
      report(io, { status, json, done: `Removed. Set another one: ${next}` });
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

/** Shows the key of one member. @throws Exit if they have none */
function showMember(
  io: Io,
  status: ProofStatus,
  { member, json }: { member: string; json: boolean | undefined },
): void {
  const keys = status.enrolled.filter(({ member_id }) => member_id === member);
  if (json) printJson(io, { ...status, enrolled: keys });
  else if (keys.length > 0) print(io, keys.map(describeKey).join("\n"));
  else say(io, `"${visibleText(member)}" has no key: gate team link ${visibleText(quote(member))}`);
  if (keys.length === 0) throw new Exit(EXIT.failed);
}

function memberMissing(): CliError {
  return new CliError("Cannot use --link or --as without --member", {
    next: "gate proof set --help",
    exit: EXIT.usage,
  });
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

A further member of the team has a key of their own, which counts for their approvals only. They set
it after logging in with the link of gate team link, or here:

Examples:
  gate proof set
  gate proof set --member ann
  gate approve 0199a1b2 --as ann
  gate proof status
  pass show gate | gate approve 0199a1b2 --passphrase-stdin
`;

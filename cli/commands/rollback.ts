import { Command, Option } from "@commander-js/extra-typings";
import type { RollbackInput, RollbackResult } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { openAction, parseIdPrefix } from "../actions/find.ts";
import { summarize } from "../actions/view.ts";
import { AS, PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import type { Io } from "../io.ts";
import { ACTION_ID } from "../options.ts";
import { paint, print, printJson } from "../terminal/output.ts";
import { rollbackError } from "../actions/rollback.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate rollback <id>`: restores the files that an action changed. */
export function createCommand(io: Io) {
  return new Command("rollback")
    .description("Roll back an action: restore the files that it changed.")
    .argument("<id>", ACTION_ID, parseIdPrefix)
    .option("--dry-run", "show the changes and write nothing")
    .addOption(
      new Option("--on-conflict <how>", "what to do if a file has changed since the action")
        .choices(["abort", "merge", "force"] as const).default("abort" as const),
    )
    .option("--reason <text>", "a note for the audit log")
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (id, { dryRun, onConflict, reason, as, json, passphraseStdin }) => {
      const connection = await openReview(io, { passphraseStdin, as });
      const { found, one, param } = await openAction(connection, id);
      const body: RollbackInput = {
        on_conflict: onConflict,
        dry_run: dryRun ?? false,
        expected_digest: found.digest,
      };
      if (reason) body.reason = reason;
      const result = await unwrap(one.rollback.$post({ param, json: body })).catch((error) => {
        throw rollbackError(io, error, `gate rollback ${param.id}`);
      });
      if (json) printJson(io, result);
      else print(io, describeRollback(io, result));
    });
}

function describeRollback(io: Io, result: RollbackResult): string {
  const outcome = result.dry_run ? `would be ${result.outcome}` : result.outcome;
  const head = `${paint(io, "green", "✓")} ${outcome.replaceAll("_", " ")}: ${
    summarize(result.action)
  }`;
  const changes = result.changes.map(({ path, now_sha256, then_sha256 }) =>
    `  ${visibleLine(path)}  ${shortHash(now_sha256)} → ${shortHash(then_sha256)}`
  );
  const left = result.left ? [`  ${paint(io, "yellow", "left")}: ${visibleLine(result.left)}`] : [];
  return [head, ...changes, ...left].join("\n");
}

function shortHash(hash: string | null): string {
  return hash === null ? "absent" : hash.slice(0, 12);
}

const HELP = `
It asks for your passphrase once, as gate approve does; --dry-run asks for none. Where the proof is
a passkey, roll back in the dashboard.

A file that has changed since the action is a conflict:
  abort   changes nothing and shows the conflict
  merge   merges three-way: keeps later changes elsewhere in the file
  force   restores the old content; the ledger keeps the current content

Examples:
  gate rollback 0199a1b2 --dry-run
  pass show gate | gate rollback 0199a1b2 --passphrase-stdin
  gate rollback 0199a1b2 --on-conflict merge
`;

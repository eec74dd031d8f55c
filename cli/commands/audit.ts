import { Command, Option } from "@commander-js/extra-typings";
import { Time, Window } from "../../server/audit/schema.ts";
import {
  AuditType,
  type AuditVerification,
  type EvidenceVerification,
} from "../../server/evidence/schema.ts";
import { unwrap } from "../../server/client.ts";
import { exportAudit } from "../audit_export.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { verifyFile } from "../evidence/verify.ts";
import { examples } from "../help.ts";
import type { Io } from "../io.ts";
import { count, paint, print, printJson } from "../terminal/output.ts";
import { matching } from "../options.ts";
import { chooseProject } from "../project.ts";
import { withSpinner } from "../terminal/spinner.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate audit`: the tamper-evident log. */
export function createCommand(io: Io) {
  const audit = new Command("audit").description("The audit log.")
    .addHelpText("after", examples("gate audit verify", "gate audit export --format csv"));
  audit.addCommand(verifyCommand(io));
  audit.addCommand(exportCommand(io));
  audit.addCommand(checkpointCommand(io));
  return audit;
}

function verifyCommand(io: Io) {
  return new Command("verify")
    .description("Check the chain of every event and the signed checkpoints; exit 1 if broken.")
    .argument("[file]", "a bundle or an export in JSON, checked here without any daemon")
    .option("--project <id>", "of this project only; otherwise of all")
    .option("--key <key>", "the public key that has to have signed the file, or a file of it")
    .option("--checkpoint <checkpoint>", "one that the file has to hold: <number>:<hash> or a file")
    .option("--json", "print JSON")
    .addHelpText("after", VERIFY_HELP)
    .action(async (file, { project, key, checkpoint, json }) => {
      const results = await withSpinner(io, "Checking every event", async () => {
        if (file === undefined) return await verifyLedgers(io, project, { key, checkpoint });
        return [await verifyFile(file, { key, checkpoint })];
      });
      if (json) printJson(io, project || file !== undefined ? results[0] : results);
      else for (const result of results) print(io, describe(io, result));
      if (!results.every(({ ok }) => ok)) throw new Exit(EXIT.failed);
    });
}

function exportCommand(io: Io) {
  return new Command("export")
    .description("Write the audit log as JSON or CSV; of all projects in the order of time.")
    .option("--project <id>", "of this project only, with what proves it")
    .option("--bundle <file>", "the whole log of one project as a page that proves itself offline")
    .addOption(
      new Option("--format <format>", "of the file").choices(["json", "csv"] as const)
        .conflicts("bundle"),
    )
    .option("--window <days>", "the last days, such as 7d", matching(Window))
    .option("--from <time>", "of this time and later", matching(Time))
    .option("--to <time>", "before this time", matching(Time))
    .addOption(new Option("--type <type>", "of this type").choices(AuditType.options))
    .addOption(new Option("-o, --output <file>", "write to this file").conflicts("bundle"))
    .addHelpText("after", EXPORT_HELP)
    .action(async ({ bundle, project, output, ...query }) => {
      if (bundle === undefined) return await exportAudit(io, query, { project, output });
      const { client } = await openConnection(io, { scope: "reviewer" });
      const chosen = await chooseProject(io, client, project);
      await exportAudit(io, { ...query, format: "bundle" }, { project: chosen, output: bundle });
      print(io, `Written: open ${bundle} in a browser, or run: gate audit verify ${bundle}`);
    });
}

function checkpointCommand(io: Io) {
  return new Command("checkpoint")
    .description(
      "Print the signed head of the log. Keep it elsewhere: nothing before it can change.",
    )
    .option("--project <id>", "of this project; otherwise of the one of this folder")
    .option("--json", "print JSON, as gate audit verify --checkpoint reads it from a file")
    .addHelpText("after", CHECKPOINT_HELP)
    .action(async ({ project, json }) => {
      const connection = await openConnection(io, { scope: "reviewer" });
      const id = await chooseProject(io, connection.client, project);
      const checkpoint = await unwrap(
        scopedClient(connection, id).api.audit.checkpoint.$get(),
      );
      if (json) return printJson(io, checkpoint);
      print(io, `--checkpoint ${checkpoint.seq}:${checkpoint.hash}`);
      print(io, `--key ${checkpoint.public_key}`);
    });
}

const VERIFY_HELP = `
A file that was made up as a whole fits in itself: compare it with a key or a checkpoint that you
have from elsewhere (gate audit checkpoint).

Examples:
  gate audit verify
  gate audit verify --project web
  gate audit verify audit.html --checkpoint 1204:9f86d081…
  gate audit verify audit.json --key MCowBQYDK2VwAyEA…
`;

const EXPORT_HELP = `
Examples:
  gate audit export --format csv --window 30d -o audit.csv
  gate audit export --project web > audit.json
  gate audit export --bundle audit.html
`;

const CHECKPOINT_HELP = `
Examples:
  gate audit checkpoint
  gate audit checkpoint --project web --json > checkpoint.json
`;

async function verifyLedgers(
  io: Io,
  project: string | undefined,
  known: { key?: string; checkpoint?: string },
): Promise<AuditVerification[]> {
  const stray = Object.entries(known).find(([, value]) => value !== undefined)?.[0];
  if (stray) {
    throw new CliError(`Cannot use --${stray} without a file`, {
      next: `gate audit verify FILE --${stray} …`,
      exit: EXIT.usage,
    });
  }
  const connection = await openConnection(io, { scope: "viewer" });
  const ids = project ? [project] : (await unwrap(
    connection.client.api.hub.projects.$get(),
  )).items.map(({ id }) => id);
  if (ids.length === 0) {
    throw new CliError("Cannot verify: no project is registered", { next: "gate init" });
  }
  const results: AuditVerification[] = [];
  for (const id of ids) {
    results.push(await unwrap(scopedClient(connection, id).api.audit.verify.$get()));
  }
  return results;
}

function describe(io: Io, result: AuditVerification | EvidenceVerification): string {
  const name = visibleLine(result.project_id);
  if (!result.ok) {
    const where = result.problem?.seq == null ? "" : ` at event ${result.problem.seq}`;
    return `${paint(io, "red", "✗")} ${name}: broken${where}: ${
      visibleLine(result.problem?.what ?? "")
    }`;
  }
  const good = `${paint(io, "green", "✓")} ${name}: ${count(result.events, "event")}, ` +
    `${count(result.checkpoints, "checkpoint")}, head ${result.head?.hash.slice(0, 16) ?? "none"}`;
  return "compared_with" in result ? `${good}\n${comparisonOf(result)}` : good;
}

function comparisonOf({ compared_with, public_key }: EvidenceVerification): string {
  return compared_with.length > 0
    ? `  it fits the ${compared_with.join(" and the ")} that you gave`
    : `  signed with ${visibleLine(public_key)}; is that the key of this gate? See --key`;
}

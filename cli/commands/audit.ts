import { Command, Option } from "@commander-js/extra-typings";
import { AuditType, type AuditVerification } from "../../server/audit/schema.ts";
import { unwrap } from "../../server/client.ts";
import { exportAudit } from "../audit_export.ts";
import { openConnection, scopedClient } from "../connect.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson } from "../output.ts";
import { withSpinner } from "../spinner.ts";
import { visibleLine } from "../visible.ts";

/** `gate audit`: the tamper-evident log. */
export function createCommand(io: Io) {
  const audit = new Command("audit").description("The audit log.");
  audit.command("verify")
    .description("Check the chain of every event and the signed checkpoints; exit 1 if broken.")
    .option("--project <id>", "of this project only; otherwise of all")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate audit verify\n  gate audit verify --project web\n")
    .action(async ({ project, json }) => {
      const results = await withSpinner(io, "Checking every event", () => verify(io, project));
      if (json) printJson(io, project ? results[0] : results);
      else for (const result of results) print(io, describe(io, result));
      if (!results.every(({ ok }) => ok)) throw new Exit(EXIT.failed);
    });
  audit.command("export")
    .description("Write the audit log as JSON or CSV; of all projects in the order of time.")
    .option("--project <id>", "of this project only, with what proves it")
    .addOption(new Option("--format <format>", "of the file").choices(["json", "csv"] as const))
    .option("--window <days>", "the last days, such as 7d")
    .option("--from <time>", "of this time and later")
    .option("--to <time>", "before this time")
    .addOption(new Option("--type <type>", "of this type").choices(AuditType.options))
    .option("-o, --output <file>", "write to this file")
    .addHelpText("after", EXPORT_HELP)
    .action(async ({ project, output, ...query }) => {
      await exportAudit(io, query, { project, output });
    });
  return audit;
}

const EXPORT_HELP = `
Examples:
  gate audit export --format csv --window 30d -o audit.csv
  gate audit export --project web > audit.json
`;

async function verify(io: Io, project: string | undefined): Promise<AuditVerification[]> {
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

function describe(io: Io, result: AuditVerification): string {
  const name = visibleLine(result.project_id);
  if (!result.ok) {
    const where = result.problem?.seq === null ? "" : ` at event ${result.problem?.seq}`;
    return `${paint(io, "red", "✗")} ${name}: broken${where}: ${
      visibleLine(result.problem?.what ?? "")
    }`;
  }
  return `${paint(io, "green", "✓")} ${name}: ${result.events} events, ` +
    `${result.checkpoints} checkpoints, head ${result.head?.hash.slice(0, 16) ?? "none"}`;
}

import { Command, Option } from "@commander-js/extra-typings";
import { createWriteStream } from "node:fs";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import { type AuditExportQuery, Time, Window } from "../../server/audit/schema.ts";
import {
  AuditType,
  type AuditVerification,
  type EvidenceVerification,
} from "../../server/evidence/schema.ts";
import { type Client, unwrap } from "../../server/client.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import { openReview } from "../proof/prover.ts";
import { cannotWrite, CliError, EXIT, Exit } from "../errors.ts";
import { verifyFile } from "../evidence/verify.ts";
import { examples, matching, TIME_FORMAT } from "../options.ts";
import type { Io } from "../io.ts";
import { count, paint, print, printJson, sizeOf } from "../terminal/output.ts";
import { chooseProject, openProject } from "../project.ts";
import { type Tell, withSpinner } from "../terminal/prompts.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";
import { quote } from "../../server/shown/quote.ts";
import {
  findLost,
  sayStepBacks,
  type StepBack,
  witness,
  witnessJournal,
} from "../witness/witness.ts";

/** `gate audit`: the tamper-evident log. */
export function createCommand(io: Io) {
  const audit = new Command("audit").description("Verify or export the audit log.")
    .addHelpText("after", examples("gate audit verify", "gate audit export --format csv"));
  audit.addCommand(verifyCommand(io));
  audit.addCommand(exportCommand(io));
  audit.addCommand(checkpointCommand(io));
  return audit;
}

function verifyCommand(io: Io) {
  return new Command("verify")
    .description(
      "Verify the hash chain, its signed checkpoints, the actions and the counts; exit 1 on a fault.",
    )
    .argument("[file]", "a bundle or a JSON export to verify, without the daemon")
    .option("--project <id>", "verify only this project (default: all projects)")
    .option("--key <key>", "require that this public key signed the file; a key or a key file")
    .option(
      "--checkpoint <checkpoint>",
      "require that the file contains this checkpoint: <number>:<hash> or a file",
    )
    .option("--json", "print JSON")
    .addHelpText("after", VERIFY_HELP)
    .action(async (file, { project, key, checkpoint, json }) => {
      const results = await withSpinner(io, "Verifying the audit log", async (tell) => {
        const known = { key, checkpoint };
        if (file === undefined) return await verifyLedgers(io, { project, known, tell });
        return [await verifyFile(file, known)];
      });
      if (json) printJson(io, project || file !== undefined ? results[0] : results);
      else for (const result of results) print(io, describe(io, result));
      if (!results.every(({ ok }) => ok)) throw new Exit(EXIT.failed);
    });
}

function exportCommand(io: Io) {
  return new Command("export")
    .description("Export the audit log of all projects, in order of time, as JSON or CSV.")
    .option("--project <id>", "export only this project, with hashes and signatures")
    .option("--bundle <file>", "write the log of one project as a web page that verifies itself")
    .addOption(
      new Option("--format <format>", "the format of the export").choices(["json", "csv"] as const)
        .conflicts("bundle"),
    )
    .option("--window <days>", "only the last days, such as 7d", matching(Window))
    .option("--from <time>", `only events at this time or later: ${TIME_FORMAT}`, matching(Time))
    .option("--to <time>", `only events before this time: ${TIME_FORMAT}`, matching(Time))
    .addOption(
      new Option("--type <type>", "only events of this type").choices(AuditType.options),
    )
    .addOption(
      new Option("-o, --output <file>", "write to this file (default: standard output)")
        .conflicts("bundle"),
    )
    .addHelpText("after", EXPORT_HELP)
    .action(async ({ bundle, project, output, ...query }) => {
      if (bundle === undefined) return await exportAudit(io, query, { project, output });
      const { client } = await openReview(io);
      const chosen = await chooseProject(io, client, project);
      await exportAudit(io, { ...query, format: "bundle" }, { project: chosen, output: bundle });
      print(
        io,
        `Open ${visibleLine(bundle)} in a browser, or run: gate audit verify ${
          visibleLine(quote(bundle))
        }`,
      );
    });
}

function checkpointCommand(io: Io) {
  return new Command("checkpoint")
    .description("Print a signed checkpoint: the newest event's number and hash.")
    .option("--project <id>", "the project (default: the project of this folder)")
    .option("--json", "print JSON, which gate audit verify --checkpoint reads from a file")
    .addHelpText("after", CHECKPOINT_HELP)
    .action(async ({ project, json }) => {
      const { api } = await openProject(io, project);
      const checkpoint = await unwrap(api.audit.checkpoint.$get());
      if (json) return printJson(io, checkpoint);
      print(io, `--checkpoint ${checkpoint.seq}:${checkpoint.hash}`);
      print(io, `--key ${checkpoint.public_key}`);
    });
}

const VERIFY_HELP = `
A forged file can be consistent in itself. Compare the file with a key or a checkpoint that you
stored elsewhere (gate audit checkpoint).

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
Store the checkpoint on another machine. With it, gate audit verify detects a later change of any
event before it.

Examples:
  gate audit checkpoint
  gate audit checkpoint --project web --json > checkpoint.json
`;

/** How often a person is told how far a check is. */
const POLL_MS = 500;

async function verifyLedgers(
  io: Io,
  { project, known, tell }: {
    project: string | undefined;
    known: { key?: string; checkpoint?: string };
    tell: Tell;
  },
): Promise<AuditVerification[]> {
  const stray = Object.entries(known).find(([, value]) => value !== undefined)?.[0];
  if (stray) {
    throw new CliError(`Cannot use --${stray}: it needs a file to verify`, {
      next: `gate audit verify FILE --${stray} …`,
      exit: EXIT.usage,
    });
  }
  const connection = await openConnection(io, { scope: "viewer" });
  const ids = project ? [project] : (await unwrap(
    connection.client.api.hub.projects.$get(),
  )).items.map(({ id }) => id);
  if (ids.length === 0) {
    const lost = await findLost(io, connection, []);
    sayStepBacks(io, lost);
    if (lost.length > 0) return withSeen([], lost);
    throw new CliError("Cannot verify the audit log: no project is registered", {
      next: "gate init",
    });
  }
  const results: AuditVerification[] = [];
  for (const id of ids) {
    results.push(await verifyLedger(io, scopedClient(connection, id), { id, tell }));
  }
  const seen = [
    ...await witness(io, connection, ids),
    ...await witnessJournal(io, connection, ids),
    ...project ? [] : await findLost(io, connection, ids),
  ];
  if (seen.length > 0) sayStepBacks(io, seen);
  return withSeen(results, seen);
}

/** Verifies the log of one project, and tells a person how far it is. */
async function verifyLedger(
  io: Io,
  { api: { audit } }: Client,
  { id, tell }: { id: string; tell: Tell },
): Promise<AuditVerification> {
  const tellProgress = async () => {
    const check = (await unwrap(audit.state.$get()).catch(() => null))?.check;
    if (!check || check.finished_at !== null) return;
    tell(`${visibleLine(id)}, ${check.checked} of ${count(check.of, "event")}`);
  };
  const polling = io.stderr.isTTY ? setInterval(tellProgress, POLL_MS) : undefined;
  try {
    return await unwrap(audit.verify.$get());
  } finally {
    clearInterval(polling);
  }
}

/** A ledger that is whole in itself is broken when it lacks an event that somebody has seen. */
function withSeen(
  results: readonly AuditVerification[],
  seen: readonly StepBack[],
): AuditVerification[] {
  const judged = results.map((result) => {
    const found = seen.find(({ project_id }) => project_id === result.project_id);
    if (!found || !result.ok) return result;
    return { ...result, ok: false, problem: { seq: found.seq, what: found.what } };
  });
  const lost = seen.filter(({ project_id }) =>
    !results.some((result) => result.project_id === project_id)
  );
  return [
    ...judged,
    ...lost.map(({ project_id, seq, what }) => ({
      ok: false,
      project_id,
      events: 0,
      checkpoints: 0,
      head: null,
      problem: { seq, what },
    })),
  ];
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
    ? `  it matches the ${compared_with.join(" and the ")} that you gave`
    : `  signed with ${visibleLine(public_key)}; check with --key that this is your gate's key`;
}

/** The filters of an export, as the API accepts them. */
type ExportFilters = Partial<
  Pick<AuditExportQuery, "format" | "window" | "from" | "to" | "type">
>;

/** Writes the audit log to a file or to standard output while it arrives. @throws ProblemError */
async function exportAudit(
  io: Io,
  query: ExportFilters,
  { project, output }: { project?: string; output?: string },
): Promise<void> {
  const connection = await openConnection(io, { scope: "viewer" });
  const answer = project
    ? await scopedClient(connection, project).api.audit.export.$get({ query })
    : await connection.client.api.global.audit.export.$get({ query: acrossProjects(query) });
  if (!answer.ok || !answer.body) return await unwrap(Promise.resolve(answer as never));
  const text = Readable.fromWeb(answer.body as WebStream<Uint8Array>);
  if (output !== undefined) {
    const file = createWriteStream(output, { mode: 0o600 });
    await withSpinner(
      io,
      "Exporting the audit log",
      (tell) => pipeline(text, counted(tell), file),
    ).catch((error) => {
      throw cannotWrite(output, query.format === "bundle" ? "--bundle" : "--output", error);
    });
    return print(io, `Written: ${visibleLine(output)} (${sizeOf(file.bytesWritten)})`);
  }
  // Agents' text must not control a terminal; a file or pipe gets the exact bytes.
  const stages = io.stdout.isTTY ? [text, visibly()] : [text];
  try {
    await pipeline([...stages, io.stdout], { end: false });
  } catch (error) {
    // A reader may close the pipe early (`gate audit export | head`): that is no failure.
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  }
}

/** Passes everything on and tells the size so far, each megabyte. */
function counted(tell: Tell): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk, _encoding, done) {
      const before = Math.floor(bytes / 1e6);
      bytes += chunk.length;
      const megabytes = Math.floor(bytes / 1e6);
      if (megabytes > before) tell(`${megabytes} MB`);
      done(null, chunk);
    },
  });
}

/** The same filters without the format "bundle", which only one project has. */
function acrossProjects({ format, ...query }: ExportFilters) {
  return { ...query, format: format === "csv" ? format : "json" as const };
}

function visibly(): Transform {
  const decoder = new TextDecoder();
  let held = "";
  return new Transform({
    transform(chunk, _encoding, done) {
      const text = held + decoder.decode(chunk, { stream: true });
      // A line of CSV ends with "\r\n": only a "\r" elsewhere becomes visible.
      held = text.endsWith("\r") ? "\r" : "";
      const whole = held ? text.slice(0, -1) : text;
      done(null, visibleText(whole.replaceAll("\r\n", "\n")));
    },
    flush(done) {
      done(null, visibleText(held));
    },
  });
}

import { Command, Option } from "@commander-js/extra-typings";
import { VERSION } from "../../server/constants.ts";
import { runChecks } from "../doctor/checks.ts";
import { gatherContext } from "../doctor/context.ts";
import type { DoctorReport, Finding } from "../../server/doctor/schema.ts";
import { EXIT, Exit } from "../errors.ts";
import { examples } from "../options.ts";
import type { Io } from "../io.ts";
import { count, paint, print, printJson, say } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { withSpinner } from "../terminal/prompts.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate doctor`: diagnoses problems on this machine and suggests fixes. */
export function createCommand(io: Io) {
  return new Command("doctor")
    .description("Diagnose problems and suggest the command that fixes each.")
    .option(
      "--prove",
      "also start each registered entry once and look for its action in the ledger",
    )
    .option("--json", "print JSON")
    .addOption(new Option("--check-databases").hideHelp())
    .addHelpText("after", HELP)
    .action(async ({ prove, json, checkDatabases: isChild }) => {
      if (isChild) return await printFaults(io);
      const findings = await withSpinner(
        io,
        "Running the checks",
        async () => runChecks(await gatherContext(io)),
      );
      if (prove) findings.push(...await proveAll(io));
      const ok = findings.every(({ level }) => level !== "problem");
      const report: DoctorReport = { ok, version: VERSION, findings };
      if (json) printJson(io, report);
      else show(io, report);
      if (!ok) throw new Exit(EXIT.failed);
    });
}

async function proveAll(io: Io): Promise<Finding[]> {
  const { prove } = await import("../doctor/prove.ts");
  return await prove(await gatherContext(io), (line) => say(io, line));
}

/** The work of the child process that reads the databases. */
async function printFaults(io: Io): Promise<void> {
  // Loaded only here: reading databases needs a writable home, the other checks do not.
  const { checkDatabases } = await import("../../server/integrity.ts");
  for (const checked of checkDatabases(placeOf(io).home)) print(io, JSON.stringify(checked));
}

const MARKS = {
  ok: ["green", "✓"],
  warning: ["yellow", "!"],
  problem: ["red", "✗"],
} as const;

function show(io: Io, { findings }: DoctorReport): void {
  for (const { check, level, message, fix } of findings) {
    const [colour, mark] = MARKS[level];
    print(io, `${paint(io, colour, mark)} ${check.padEnd(12)}  ${visibleLine(message)}`);
    if (fix !== null) print(io, `                try: ${visibleLine(fix)}`);
  }
  const among = (level: Finding["level"]) => findings.filter((one) => one.level === level).length;
  const problems = among("problem");
  const warnings = among("warning");
  print(io);
  if (problems + warnings === 0) print(io, "No problems were found.");
  else print(io, `${count(problems, "problem")}, ${count(warnings, "warning")}.`);
}

const HELP = `
It changes nothing. It reads the databases in a separate process. With --prove it starts what the
agent hosts would start, including the daemon. Exits with 1 if there is a problem, but not for
warnings.
${
  examples(
    "gate doctor",
    "gate doctor --prove",
    "gate doctor --json | jq '.findings[] | select(.fix)'",
  )
}`;

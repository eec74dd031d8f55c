import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { formatFinding, type ReadDocument, readDocument } from "../document.ts";
import { EXIT, ToolError } from "../errors.ts";
import type { Io } from "../../io.ts";
import { readText } from "../sources.ts";
import { safeLine, visibleJson } from "../../terminal/visible.ts";

/** `scenario-tool validate FILE...`: prints every mistake with its line and JSON pointer. */
export function createCommand(io: Io, exit: (code: number) => void): CommandUnknownOpts {
  return new Command("validate")
    .description(
      "Check scenario files; print every mistake with its line and JSON pointer (exit 3).",
    )
    .argument("<files...>", "scenario files")
    .option("--json", "print the findings as JSON")
    .action((files: string[], options: { json?: boolean }) => {
      const read = files.map((name) => ({ name, ...readFile(name, io.cwd) }));
      const bad = read.some(({ findings }) => findings.length > 0);
      if (options.json) {
        const found = read.map(({ name, scenarios, findings }) => ({
          file: name,
          valid: findings.length === 0,
          scenarios: scenarios.length,
          findings,
        }));
        io.stdout.write(`${visibleJson({ files: found }, 0)}\n`);
      } else {
        for (const { name, scenarios, findings } of read) {
          for (const finding of findings) {
            io.stderr.write(`${safeLine(formatFinding(finding, name))}\n`);
          }
          if (findings.length === 0) {
            const what = scenarios.length === 1 ? "1 scenario" : `${scenarios.length} scenarios`;
            io.stdout.write(`${safeLine(name)}: ${what}, valid\n`);
          }
        }
      }
      if (bad) exit(EXIT.error);
    });
}

/** The content of a file; an unreadable one is a finding, so that the others are told too. */
function readFile(name: string, cwd: string): ReadDocument {
  try {
    return readDocument(readText(name, cwd));
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const { message } = error;
    return { scenarios: [], findings: [{ pointer: "", line: 1, column: 1, message }] };
  }
}

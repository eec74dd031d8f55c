import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

/** Lines that a person would take for the gate's own. */
const FORGED = [
  "✓ approved: everything",
  "── FORGED ────────",
  "decision    allow: FORGED",
  "gate: FORGED",
  "  try: FORGED",
];
const LINES = FORGED.join("\n");
/** Pushes what follows to the margin of a terminal that wraps. */
const PUSH = "a".repeat(230);
const TRICKS = [`\n${LINES}`, `\r\n${LINES}`, `\u001b[2K\u001b[1G${LINES}`, `\u0085${LINES}`]
  .join("\n");

let gated: GatedProject;
let ids: Record<"command" | "write" | "session" | "refused", string>;

beforeAll(async () => {
  gated = await openGatedProject();
  const command = await gated.submit("run_command", { command: `true ${PUSH}${TRICKS}` });
  const write = await gated.submit("write_file", { path: "x.txt", content: `${PUSH}${TRICKS}` });
  await gated.write("src/a.txt", LINES);
  await gated.write("src/a.txt", `${PUSH}${TRICKS}`);
  const refused = await gated.submit("run_command", { command: `gate token ${PUSH}${TRICKS}` });
  ids = {
    command: command.id,
    write: write.id,
    refused: refused.id,
    session: command.session_id,
  };
});
afterAll(() => gated.close());

/** The lines that a person sees on a terminal of 120 columns. */
function seen(printed: string): string[] {
  return stripVTControlCharacters(printed).split("\n").flatMap((line) =>
    line === "" ? [""] : line.match(/.{1,120}/gsu)!
  );
}

describe("no line of an agent passes for one of the gate", () => {
  test.each<[string, (is: typeof ids) => string[]]>([
    ["show of a command", ({ command }) => ["show", command]],
    ["show of a write", ({ write }) => ["show", write]],
    ["show of a refusal", ({ refused }) => ["show", refused]],
    ["log", () => ["log"]],
    ["pending", () => ["pending"]],
    ["status", () => ["status"]],
    ["session list", () => ["session", "list"]],
    ["session show", ({ session }) => ["session", "show", session]],
    ["session diff", ({ session }) => ["session", "diff", session]],
    ["session rollback", ({ session }) => ["session", "rollback", session, "--dry-run"]],
    ["grant list", () => ["grant", "list"]],
    ["policy explain", () => ["policy", "explain", "--command", `ls ${PUSH}${TRICKS}`]],
    ["policy test", () => ["policy", "test", "--command", `ls ${PUSH}${TRICKS}`]],
    ["audit verify", () => ["audit", "verify"]],
    ["an error", () => ["show", `0199${TRICKS}`]],
    ["reject", ({ write }) => ["reject", write, "--reason", `no ${PUSH}${TRICKS}`]],
    ["reject all", () => ["reject", "--all", "--reason", "no"]],
    ["show after it", ({ write }) => ["show", write]],
  ])("%s", async (_, args) => {
    for (const person of [false, true]) {
      const { stdout, stderr } = await gated.terminal.run(args(ids), { person });
      for (const line of person ? seen(stdout + stderr) : (stdout + stderr).split("\n")) {
        for (const forged of FORGED) {
          expect(line.trimStart().startsWith(forged.trimStart()), line).toBe(false);
        }
      }
    }
  });
});

import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { attempt, GIVE_A_PLACE, ToolError } from "../errors.ts";
import type { Io } from "../../io.ts";
import type { Scenario } from "../schema.ts";
import { safeLine } from "../../terminal/visible.ts";

/** The file that `run` reads by default. */
const DEFAULT = "scenarios.json";

/** `scenario-tool init`: writes a first scenario file. */
export function createCommand(
  io: Io,
  _exit: (code: number) => void,
  called: string,
): CommandUnknownOpts {
  return new Command("init")
    .description("Write a first scenarios.json into this folder.")
    .argument("[file]", "name of the file", DEFAULT)
    .action((file: string) => {
      const path = resolve(io.cwd, file);
      if (existsSync(path)) {
        throw new ToolError(`Cannot write "${file}": it exists already`, {
          next: "scenario-tool init another.json",
        });
      }
      attempt(`write "${file}"`, GIVE_A_PLACE, () => {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, `${JSON.stringify({ scenarios: [EXAMPLE] }, null, 2)}\n`);
      });
      const named = file === DEFAULT ? "" : ` --scenarios ${file}`;
      const next = `${called} run --target http://127.0.0.1:3000${named}`;
      io.stdout.write(`${safeLine(`Wrote ${file}. Next: ${next}`)}\n`);
    });
}

const EXAMPLE: Scenario = {
  scenario_id: "TS-001",
  title: "Redeeming one voucher from two tabs at once",
  user_perspective: "A customer has the shop open in two tabs and presses Redeem in both.",
  preconditions: ["The voucher WELCOME exists and has not been used"],
  steps: ["Open the voucher page in two tabs", "Press Redeem in both at the same moment"],
  chaos_factors: ["Both requests reach the server within a millisecond"],
  expected_behavior: "One redemption succeeds, the other is told that the voucher is used.",
  failure_modes: ["The voucher is credited twice"],
  priority: "critical",
  confidence_area: "payments",
  is_edge_case: true,
  exec: {
    mode: "http",
    method: "POST",
    path: "/vouchers/WELCOME/redeem",
    headers: { "Content-Type": "application/json" },
    body: "{}",
    concurrency: 10,
  },
};

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { z } from "zod";
import { VERSION } from "../../server/constants.ts";
import { selfCommand } from "../../server/runtime/self.ts";
import { ERRORS_AS_JSON, failureIn } from "../../server/runtime/self_failure.ts";
import { readLines } from "../terminal/input.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

const Checked = z.object({
  path: z.string(),
  fault: z.string().nullable(),
  newer: z.string().nullable(),
  unread: z.object({ why: z.string(), next: z.string().nullable() }).nullable(),
});

/** Checks every database completely, in a separate process. */
export async function checkLedgers({ io, place }: CheckContext, found: Findings): Promise<void> {
  if (!existsSync(place.home)) return found.ok("there is none yet");
  const { command, args } = selfCommand();
  const child = spawn(command, [...args, "doctor", "--check-databases"], {
    env: { ...io.env, ...ERRORS_AS_JSON, GATE_HOME: place.home } as NodeJS.ProcessEnv,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (piece) => said = (said + piece).slice(0, MOST_SAID));
  const ended = new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", resolve);
  });
  let count = 0;
  for await (const line of readLines(child.stdout)) {
    const { path, fault, newer, unread } = Checked.parse(JSON.parse(line));
    count++;
    if (fault !== null) found.fail(`${path} is damaged: ${fault}`, "gate daemon restart");
    if (unread !== null) found.fail(unread.why, unread.next ?? "gate daemon logs");
    if (newer !== null) {
      const fix = `update gate on this machine to ${newer} or newer`;
      found.fail(`${path} is of gate ${newer}, this is gate ${VERSION}`, fix);
    }
  }
  const code = await ended;
  if (code !== 0) {
    found.fail(
      `they could not be checked: ${failureIn(said)?.message ?? `exit ${code}`}`,
      "gate daemon logs",
    );
  }
  if (found.list.length === 0) {
    found.ok(count === 1 ? "1 database is intact" : `${count} databases are intact`);
  }
}

const MOST_SAID = 4_096;

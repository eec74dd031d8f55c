import { spawn } from "node:child_process";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { Command } from "@commander-js/extra-typings";
import { z } from "zod";
import { statusLineFile } from "../../server/agent_monitor/settings.ts";
import { openHome } from "../../server/runtime/home.ts";
import { examples } from "../options.ts";
import { Exit } from "../errors.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { print } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

const Input = z.looseObject({
  model: z.looseObject({ display_name: z.string().optional() }).optional(),
  context_window: z.looseObject({ used_percentage: z.number().nullish() }).optional(),
  rate_limits: z.record(z.string(), z.unknown()).optional(),
});

/** `gate statusline`: keeps the rate limits that Claude Code tells its status line. */
export function createCommand(io: Io) {
  return new Command("statusline")
    .description(
      "Answer as the status line of Claude Code, and keep the rate limits that it tells.",
    )
    .option("--then <command>", "the status line that stands behind gate's, for its output")
    .addHelpText("after", examples("gate global-setup --statusline"))
    .action(async ({ then }) => {
      const input = await text(io.stdin);
      const told = Input.safeParse(parsed(input)).data ?? {};
      if (told.rate_limits) keep(placeOf(io).home, told.rate_limits);
      if (then !== undefined) return await runBehind(io, then, input);
      const percent = told.context_window?.used_percentage;
      const words = [
        told.model?.display_name ?? "",
        percent == null ? "" : `context ${Math.round(percent)} %`,
      ];
      print(io, visibleLine(words.filter((word) => word !== "").join(" · ")));
    });
}

/** Replaces the file in one step, so that the daemon never reads half of it. */
function keep(home: string, rate_limits: Record<string, unknown>): void {
  openHome(home);
  const path = statusLineFile(home, "claude-code");
  const temporary = `${path}.${crypto.randomUUID()}`;
  writeFileSync(temporary, JSON.stringify({ at: Date.now(), rate_limits }), { mode: 0o600 });
  renameSync(temporary, path);
}

/** Runs the person's own status line as Claude Code would have. */
async function runBehind(io: Io, command: string, input: string): Promise<void> {
  const child = spawn(command, {
    shell: true,
    cwd: io.cwd,
    env: io.env as Record<string, string>,
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => {}); // it may not read its input
  child.stdin.end(input);
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  io.stdout.write(output);
  if (code !== 0) throw new Exit(1);
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return {};
  }
}

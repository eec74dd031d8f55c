import { Command } from "@commander-js/extra-typings";
import { setTimeout as sleep } from "node:timers/promises";
import { SCENES } from "../demo/script.ts";
import { Stage } from "../demo/stage.ts";
import { CliError } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { paint, print, printJson } from "../terminal/output.ts";
import { visibleText } from "../terminal/visible.ts";

const PACE_MS = 1_500;

/** `gate demo`: a scripted agent in a temporary project, to show gate at work. */
export function createCommand(io: Io) {
  return new Command("demo")
    .description(
      "Show a hold, an approval, a block and a rollback with a scripted agent (one minute).",
    )
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ json }) => {
      const started = Date.now();
      const interrupted = rejectOnSignal(io);
      if (!json) {
        print(io, "This demo uses a real MCP client, a real daemon and a temporary project.");
      }
      const stage = await Stage.open(io);
      try {
        const played = await Promise.race([playAll(io, stage, json ?? false), interrupted]);
        if (json) printJson(io, { ok: true, scenes: played, elapsed_ms: Date.now() - started });
        else finish(io, Date.now() - started);
      } finally {
        await stage.close();
      }
    });
}

async function playAll(io: Io, stage: Stage, quiet: boolean) {
  const played: { title: string; happened: string[] }[] = [];
  for (const [index, { title, play }] of SCENES.entries()) {
    if (!quiet) {
      await pause(io);
      print(io, `\n${paint(io, "bold", `${index + 1}. ${title}`)}`);
    }
    const happened = await play(stage);
    played.push({ title, happened });
    if (quiet) continue;
    for (const line of happened) print(io, `   ${paint(io, "green", "✓")} ${visibleText(line)}`);
  }
  return played;
}

/** Rejects at the first signal, so that Ctrl-C ends the demo and its clean-up still runs. */
function rejectOnSignal(io: Io): Promise<never> {
  const interrupted = new Promise<never>((_resolve, reject) => {
    io.onSignal(() => reject(new CliError("Cannot finish the demo: it was interrupted")));
  });
  // Avoids an unhandled rejection if a signal arrives before `Promise.race`.
  interrupted.catch(() => {});
  return interrupted;
}

function finish(io: Io, elapsed_ms: number): void {
  print(io, `\nThe demo took ${(elapsed_ms / 1000).toFixed(1)} s and removed its files.`);
  print(io, "Next: run gate init in a project of yours.");
}

/** Gives a person at the terminal time to read. */
async function pause(io: Io): Promise<void> {
  if (isInteractive(io)) await sleep(PACE_MS);
}

const HELP = `
The demo uses a temporary folder and a free port, changes none of your files and deletes its own.

Examples:
  gate demo
  gate demo --json
`;

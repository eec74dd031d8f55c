import { Command } from "@commander-js/extra-typings";
import { SCENES } from "../demo/script.ts";
import { Stage } from "../demo/stage.ts";
import { CliError } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { paint, print, printJson } from "../terminal/output.ts";
import { visibleText } from "../terminal/visible.ts";

const PACE_MS = 1_500;

/** `gate demo`: a scripted agent in a project of its own, so that a newcomer sees the gate work. */
export function createCommand(io: Io) {
  return new Command("demo")
    .description("See a hold, an approval, a block and a rollback: a scripted agent, nothing kept.")
    .option("--json", "print what happened as JSON")
    .addHelpText("after", HELP)
    .action(async ({ json }) => {
      const started = Date.now();
      const interrupted = hearInterrupt(io);
      if (!json) print(io, "A real agent's client, a real daemon, a temporary project.");
      const stage = await Stage.open(io);
      try {
        const played = await Promise.race([play(io, stage, json ?? false), interrupted]);
        if (json) printJson(io, { ok: true, scenes: played, elapsed_ms: Date.now() - started });
        else finish(io, Date.now() - started);
      } finally {
        await stage.close();
      }
    });
}

async function play(io: Io, stage: Stage, quiet: boolean) {
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

/** Fails with the first signal: Ctrl-C ends the demo, but not before it has cleaned up. */
function hearInterrupt(io: Io): Promise<never> {
  const interrupted = new Promise<never>((_resolve, reject) => {
    io.onSignal(() => reject(new CliError("The demo was interrupted")));
  });
  // It may come while nobody waits for it yet.
  interrupted.catch(() => {});
  return interrupted;
}

function finish(io: Io, elapsed_ms: number): void {
  print(io, `\nAll of it really happened, in ${(elapsed_ms / 1000).toFixed(1)} s.`);
  print(io, "Next:  gate init   in a project of yours.");
}

/** Time to read, for a person only. */
async function pause(io: Io): Promise<void> {
  if (isInteractive(io)) await new Promise((resolve) => setTimeout(resolve, PACE_MS));
}

const HELP = `
It uses a temporary folder and a free port, touches nothing of yours and cleans up after itself.

Examples:
  gate demo
  gate demo --json
`;

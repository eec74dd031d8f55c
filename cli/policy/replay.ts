import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { resolve } from "node:path";
import type { z } from "zod";
import { type Client, unwrap } from "../../server/client.ts";
import { parseConfig } from "../../server/config/load.ts";
import { ProjectConfig } from "../../server/config/schema.ts";
import type { PolicyReplayInput, PolicyReplayPage } from "../../server/trials/schema.ts";
import { Policies } from "../../server/policy/schema.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import { CliError, EXIT } from "../errors.ts";
import { readNamed } from "../terminal/input.ts";
import type { Io } from "../io.ts";
import { print, printJson } from "../terminal/output.ts";
import { chooseProject } from "../project.ts";
import { Progress } from "./progress.ts";
import { addPage, describeReplay, emptyReplay, type Replay } from "./replay_text.ts";
import { readSince } from "./since.ts";

/** `gate policy replay`: what other policies would have done to what is recorded. */
export function addReplay(policy: CommandUnknownOpts, io: Io): void {
  policy.command("replay")
    .description("Say what other policies would have done to the recorded actions.")
    .option("--since <time>", "how far back: 12h, 30d, 2w or a date", "30d")
    .option("--config <file>", "the policies of this gate.config.json, in place of the project's")
    .option("--policies <file>", "these policies; keys left out stay as they are")
    .option("--project <id>", "of this project; otherwise of the one of this folder")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ since, config, policies, project, json }) => {
      const now = Date.now();
      const candidate = await readCandidate(io, { config, policies });
      const asked = { since: readSince(since, now), ...candidate };
      const connection = await openConnection(io, { scope: "reviewer" });
      const id = await chooseProject(io, connection.client, project);
      const replay = await replayAll(scopedClient(connection, id), asked, {
        progress: new Progress(io, "Asking the policies again …"),
        now,
      });
      if (json) printJson(io, replay);
      else print(io, describeReplay(io, replay));
    });
}

type Candidate = Pick<PolicyReplayInput, "policies" | "whole">;

async function readCandidate(
  io: Io,
  files: { config?: string | undefined; policies?: string | undefined },
): Promise<Candidate> {
  if (files.config !== undefined && files.policies !== undefined) {
    throw new CliError("Give either --config or --policies, not both", {
      next: "gate policy replay --help",
      exit: EXIT.usage,
    });
  }
  if (files.policies !== undefined) {
    return { policies: await readFile(io, files.policies, Policies) };
  }
  if (files.config === undefined) return {};
  const { policies = {} } = await readFile(io, files.config, ProjectConfig);
  return { policies, whole: true };
}

async function readFile<T>(io: Io, file: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readNamed(io, file, "gate policy replay --help");
  const { value, error } = parseConfig(resolve(io.cwd, file), text, schema);
  if (value === null) throw new CliError(`Cannot use the policies: ${error}`);
  return value;
}

async function replayAll(
  client: Client,
  asked: PolicyReplayInput,
  { progress, now }: { progress: Progress; now: number },
): Promise<Replay> {
  const replay = emptyReplay(asked.since);
  const whole = Math.max(1, now - Date.parse(asked.since));
  try {
    let cursor: string | null = null;
    do {
      const json: PolicyReplayInput = cursor === null ? asked : { ...asked, cursor };
      const page: PolicyReplayPage = await unwrap(client.api.policy.replay.$post({ json }));
      addPage(replay, page);
      cursor = page.next_cursor;
      if (page.reached) progress.show((now - Date.parse(page.reached)) / whole);
    } while (cursor !== null);
  } finally {
    progress.end();
  }
  return replay;
}

const HELP = `
Nothing is changed: the recorded actions are only asked about again, with the files as they are
today. What cannot be judged again (redacted inputs, rollbacks) is counted apart.

Examples:
  gate policy replay --since 7d
  gate policy replay --config gate.config.new.json --json
  echo '{"blockedCommands": ["git push"]}' > rules.json && gate policy replay --policies rules.json
`;

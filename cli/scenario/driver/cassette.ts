import { appendFileSync, readFileSync } from "node:fs";
import { z } from "zod";
import { attempt, GIVE_A_FILE, GIVE_A_PLACE, ToolError } from "../errors.ts";
import type { Scenario } from "../schema.ts";
import type { Player, ToolCall, ToolResult } from "./player.ts";

/** One line of a cassette: the moves of one scenario as `--record` writes them. */
const Track = z.looseObject({
  scenario_id: z.string(),
  moves: z.array(z.array(z.looseObject({
    id: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()).nullable(),
  }))),
});

/** Plays recorded moves against the target, so the verdict is about the target of today. */
export class CassettePlayer implements Player {
  readonly tokens = 0;
  readonly #tracks: Map<string, ToolCall[][]>;
  #moves: ToolCall[][] = [];

  constructor(tracks: Map<string, ToolCall[][]>) {
    this.#tracks = tracks;
  }

  begin({ scenario_id }: Scenario): Promise<ToolCall[]> {
    this.#moves = [...this.#tracks.get(scenario_id) ?? []];
    return this.next([]);
  }

  next(_results: ToolResult[]): Promise<ToolCall[]> {
    return Promise.resolve(this.#moves.shift() ?? []);
  }
}

/** Reads a cassette. @throws ToolError naming the broken line */
export function readCassette(path: string): Map<string, ToolCall[][]> {
  const tracks = new Map<string, ToolCall[][]>();
  const text = attempt(`read "${path}"`, GIVE_A_FILE, () => readFileSync(path, "utf8"));
  text.split("\n").forEach((line, index) => {
    if (line.trim() === "") return;
    try {
      const { scenario_id, moves } = Track.parse(JSON.parse(line));
      tracks.set(scenario_id, moves);
    } catch (cause) {
      const place = `${path}:${index + 1}`;
      throw new ToolError(`Cannot read ${place}: it is not a recorded scenario`, {
        next: "remove that line, or record the cassette again",
        cause,
      });
    }
  });
  return tracks;
}

/** Appends the moves of one scenario to a cassette. @throws ToolError */
export function recordTrack(path: string, scenario_id: string, moves: ToolCall[][]): void {
  const line = `${JSON.stringify({ scenario_id, moves })}\n`;
  attempt(
    `write the cassette "${path}"`,
    GIVE_A_PLACE,
    () => appendFileSync(path, line, { mode: 0o600 }),
  );
}

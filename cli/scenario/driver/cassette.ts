import { appendFileSync, readFileSync } from "node:fs";
import { z } from "zod";
import { ToolError } from "../errors.ts";
import type { Scenario } from "../schema.ts";
import type { Player, ToolCall, ToolResult } from "./player.ts";

/** The moves of one scenario, as `--record` writes them: one JSON object a line. */
const Track = z.looseObject({
  scenario_id: z.string(),
  moves: z.array(z.array(z.looseObject({
    id: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()).nullable(),
  }))),
});

/** Plays recorded moves again; the target is asked anew, so the verdict is about today. */
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

  end(): void {}
}

/** Reads a cassette. @throws ToolError naming the line that is broken */
export function readCassette(path: string): Map<string, ToolCall[][]> {
  const tracks = new Map<string, ToolCall[][]>();
  readText(path).split("\n").forEach((line, index) => {
    if (line.trim() === "") return;
    try {
      const { scenario_id, moves } = Track.parse(JSON.parse(line));
      tracks.set(scenario_id, moves);
    } catch (cause) {
      throw new ToolError(`Cannot read ${path}:${index + 1}: it is no recorded scenario`, {
        cause,
      });
    }
  });
  return tracks;
}

/** Adds the moves of one scenario to a cassette. */
export function recordTrack(path: string, scenario_id: string, moves: ToolCall[][]): void {
  try {
    appendFileSync(path, `${JSON.stringify({ scenario_id, moves })}\n`, { mode: 0o600 });
  } catch (cause) {
    throw new ToolError(`Cannot write the cassette "${path}": ${(cause as Error).message}`, {
      cause,
    });
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ToolError(`Cannot read "${path}": ${(cause as Error).message}`, { cause });
  }
}

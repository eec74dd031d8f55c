import type { Scenario } from "../schema.ts";

/** One use of a tool, as a player asks for it. */
export interface ToolCall {
  id: string;
  name: string;
  /** Parsed; null where what came was no JSON object. */
  arguments: Record<string, unknown> | null;
}

/** What a tool answered, for the player's next move. */
export interface ToolResult {
  id: string;
  content: string;
}

/** The player cannot go on: nothing is known of the target by that. */
export class PlayerError extends Error {}

/** Whoever decides what to send next: a model, a program, or a recording. */
export interface Player {
  /** The first move after the scenario was told. */
  begin(scenario: Scenario): Promise<ToolCall[]>;
  /** The next move, knowing the results of the last one. @throws PlayerError */
  next(results: ToolResult[]): Promise<ToolCall[]>;
  /** Tokens used so far, 0 for players that use none. */
  tokens: number;
  end(): void;
}

import { isObject } from "../json.ts";
import type { Scenario } from "../schema.ts";

/** One tool call of a player. */
export interface ToolCall {
  id: string;
  name: string;
  /** Null when the arguments are not a JSON object. */
  arguments: Record<string, unknown> | null;
}

/** The result of a tool call, for the player's next move. */
export interface ToolResult {
  id: string;
  content: string;
}

/** The player cannot continue. This says nothing about the target. */
export class PlayerError extends Error {}

/** Decides what to send next: a model, a program or a recording. */
export interface Player {
  /** Returns the first move for a scenario. */
  begin(scenario: Scenario): Promise<ToolCall[]>;
  /** Returns the next move, given the results of the last one. @throws PlayerError */
  next(results: ToolResult[]): Promise<ToolCall[]>;
  /** Tokens used so far; 0 for players without a model. */
  tokens: number;
  /** Called once, after the last move. */
  end?(): void;
}

/** Parses the arguments of a tool call. Returns null for anything but a JSON object. */
export function parseArguments(text: unknown): Record<string, unknown> | null {
  try {
    const value = typeof text === "string" ? JSON.parse(text || "{}") : text;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

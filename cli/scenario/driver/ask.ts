import { PlayerError } from "./player.ts";

const TIMEOUT_MS = 120_000;
const ANSWER_CHARS = 4 * 1024 * 1024;

/** One JSON request to a model's API. @throws PlayerError with the status, never with the key */
export async function askModel(
  url: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<Record<string, unknown>> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: "error",
    });
  } catch (cause) {
    throw new PlayerError(`the model at ${new URL(url).host} cannot be reached`, { cause });
  }
  if (!response.ok) throw new PlayerError(`the model's API answered ${response.status}`);
  const text = await textOf(response);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PlayerError("the model's API answered no JSON", { cause });
  }
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > ANSWER_CHARS) break;
    }
  } catch (cause) {
    throw new PlayerError("the model's API did not answer to the end", { cause });
  }
  if (text.length > ANSWER_CHARS) throw new PlayerError("the model's API answered without an end");
  return text;
}

/** Tokens as an API counts them: what is no number counts for nothing. */
export function tokensIn(...counts: unknown[]): number {
  return counts.map(Number).filter((count) => count > 0 && count < Infinity)
    .reduce((sum, count) => sum + count, 0);
}

/** Arguments as models send them: JSON text, or what should have been. */
export function parseArguments(text: unknown): Record<string, unknown> | null {
  try {
    const value = typeof text === "string" ? JSON.parse(text || "{}") : text;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

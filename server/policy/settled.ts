import type { Surroundings } from "./request.ts";

/**
 * The result of an evaluation, which runs a second time if the first one asked for something that is
 * still being read. It waits for at most about a second; what is unknown by then asks a person.
 */
export async function settled<T>(around: Surroundings, judge: () => T): Promise<T> {
  const first = judge();
  const reading = around.settle?.() ?? null;
  if (reading === null) return first;
  await reading;
  return judge();
}

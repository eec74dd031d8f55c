import { expect } from "vitest";
import { SPEAK } from "../server/hooks/stage.ts";
import type { World } from "./world.ts";

/** Runs `gate hook` as the host does. It must print exactly one line of JSON. */
export async function askHook(world: World, host: string, input: unknown) {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  const { code, stdout, stderr } = await world.run(["hook", host], { input: text });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.split("\n")).toHaveLength(2);
  const output = JSON.parse(stdout);
  return { output, reason: SPEAK[host]!.reason(output) };
}

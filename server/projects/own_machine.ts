import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { MachineName } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { readSmallFile, writeWhole } from "../runtime/small_file.ts";

const Kept = z.looseObject({ id: z.uuid() });

const MOST_BYTES = 4 * 1024;

/**
 * The name of this home among the machines that share a ledger: an id that the home keeps, made when
 * it is first needed. @throws GateError `unavailable` if the file of the id cannot be read
 */
export function ownMachine(home: string): MachineName {
  const path = join(home, "machine.json");
  const name = hostname();
  if (!existsSync(path)) {
    const id = crypto.randomUUID();
    writeWhole(path, `${JSON.stringify({ id })}\n`, 0o600);
    return { id, name };
  }
  try {
    return { id: Kept.parse(JSON.parse(readSmallFile(path, MOST_BYTES))).id.toLowerCase(), name };
  } catch (cause) {
    const message = `Cannot use a shared ledger: "${path}", which names this machine, cannot be ` +
      "read; put the file back";
    throw new GateError("unavailable", message, { cause });
  }
}

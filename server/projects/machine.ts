import { homedir } from "node:os";
import { parse } from "node:path";
import type { ProjectConfig } from "../config/schema.ts";
import { MACHINE_ID } from "../constants.ts";
import { GateError } from "../errors.ts";
import { machineTemplate } from "../policy/templates.ts";

/** The name of the machine's own ledger in lists. */
export const MACHINE_NAME = "Folders of no project";

/** The roots under which the machine's ledger evaluates paths: the whole disk. */
export function machineRoots(): string[] {
  return [parse(homedir()).root];
}

/**
 * The rules of the machine's ledger below those of the global config. They are part of gate, because
 * no folder holds a gate.config.json for it.
 */
export function machineConfig(): ProjectConfig {
  return { id: MACHINE_ID, version: "2", policies: machineTemplate() };
}

/** @throws GateError `conflict` for the id of the machine's own ledger, in any case */
export function refuseMachineId(id: string, root: string): void {
  if (id.toLowerCase() !== MACHINE_ID) return;
  const message =
    `Cannot register "${root}": the id "${id}" belongs to the machine's own ledger; ` +
    'give the project another "id" in its gate.config.json';
  throw new GateError("conflict", message);
}

import { configuredConfirmation } from "../../config/approvals.ts";
import { GateError } from "../../errors.ts";
import type { ActionServices } from "../context.ts";
import type { ActionRow } from "../store.ts";

type Confirmed = Pick<ActionRow, "path" | "command" | "digest" | "risk" | "status">;

const LEVELS = ["low", "medium", "high", "critical"];

/** A text that everybody can type: no blank, no character that looks like another one. */
const TYPABLE = /^[\w.@+-]{1,40}$/;

/**
 * The text that a person types to approve this action: the name of its file or program. Null where
 * the config asks for none at this risk, and for an action that does not wait.
 */
export function confirmationOf(
  { environment: { home } }: Pick<ActionServices, "environment">,
  { path, command, digest, risk, status }: Confirmed,
): string | null {
  const from = configuredConfirmation(home);
  if (from === null || status !== "pending") return null;
  if (LEVELS.indexOf(risk.level) < LEVELS.indexOf(from)) return null;
  const named = (command?.trim().split(/\s/)[0] ?? path ?? "").split("/").at(-1)!;
  return TYPABLE.test(named) ? named : digest.slice(0, 8);
}

/** @throws GateError `invalid` unless the text that the config asks for was typed */
export function requireConfirmed(
  services: ActionServices,
  row: ActionRow,
  typed: string | undefined,
): void {
  const confirmation = confirmationOf(services, row);
  if (confirmation === null || typed === confirmation) return;
  const why = typed === undefined ? `its risk is ${row.risk.level}` : "another text was typed";
  throw new GateError(
    "invalid",
    `Cannot approve the action: ${why}; type "${confirmation}", as "confirm" of the request`,
    { fields: { confirmation } },
  );
}

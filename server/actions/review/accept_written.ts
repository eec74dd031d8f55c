import type { AcceptInput, ConfigView } from "../../config/schema.ts";
import type { ActionDetail } from "../schema.ts";

/** A config file with the hash of its text. */
export interface WrittenConfig {
  path: string;
  sha256: string;
}

/**
 * The project's config as the approval of a held action would write it; null if it writes none, or
 * if nobody has seen the text that it would write.
 */
export function configWrittenBy(
  { signed, command, base }: Pick<ActionDetail, "signed" | "command" | "base">,
): WrittenConfig | null {
  if (signed === null || command !== null || base !== null || signed.input_sha256 !== null) {
    return null;
  }
  const change = signed.changes.find(({ path, after }) =>
    after !== null && /(?:^|[\\/])gate\.config\.json$/.test(path)
  );
  return change ? { path: change.path, sha256: change.after!.sha256 } : null;
}

/**
 * Accepts a config that a person has approved, while the file holds exactly that text. The person's
 * key signs the acceptance too. Returns false when another text waits or none.
 */
export async function acceptWritten(
  { path, sha256 }: WrittenConfig,
  { read, accept }: {
    read: () => Promise<Pick<ConfigView, "outside_changes">>;
    accept: (input: AcceptInput) => Promise<unknown>;
  },
): Promise<boolean> {
  const { outside_changes } = await read();
  const change = outside_changes.find((one) => one.path === path && one.after_sha256 === sha256);
  if (change === undefined) return false;
  await accept({ path, sha256, number: change.number });
  return true;
}

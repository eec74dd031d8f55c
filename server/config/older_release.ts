import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { MACHINE } from "./config_text.ts";
import type { ConfigRow } from "./store.ts";

const PinnedVersion = z.object({ sha256: z.string(), text: z.string().nullable() });

/** The file in which an older release kept the accepted configs of a project. */
const PinFile = z.record(
  z.string(),
  z.union([
    z.object({ seen: PinnedVersion, accepted: PinnedVersion, changed_at: z.string().nullable() }),
    z.string().transform((sha256) => {
      const version = { sha256, text: null };
      return { seen: version, accepted: version, changed_at: null };
    }),
  ]),
);

/** The path of the file in which an older release kept the accepted configs of a project. */
export function pinFile(home: string, project_id: string): string {
  return join(home, "projects", project_id, "config_pin.json");
}

/** The record of an older release about a project; null without one. */
export function importPin(home: string, project_id: string): ConfigRow | null {
  if (project_id === MACHINE) return null;
  try {
    const pins = PinFile.parse(JSON.parse(readFileSync(pinFile(home, project_id), "utf8")));
    const machine = pins[join(home, "config.json")];
    const own = Object.entries(pins).find(([path]) => path !== join(home, "config.json"));
    if (!own) return null;
    const [path, { seen, accepted, changed_at }] = own;
    return {
      project_id,
      accepted: {
        ...accepted,
        path,
        number: 0,
        accepted_at: changed_at ?? new Date(0).toISOString(),
        accepted_by: "import",
        proof: null,
        base: null,
      },
      seen,
      changed_at,
      machine_sha256: machine?.seen.sha256 ?? null,
    };
  } catch {
    return null;
  }
}

/** The projects that an older release trusted; empty for an unreadable file. */
export function readTrustFile(path: string): string[] {
  try {
    const file = z.object({ override_global: z.array(z.string()) });
    return file.parse(JSON.parse(readFileSync(path, "utf8"))).override_global;
  } catch {
    return [];
  }
}

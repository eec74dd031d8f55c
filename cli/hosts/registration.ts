import { CliError } from "../errors.ts";
import { type ConfigFile, openConfig, refuseReadOnly } from "./edit/config_file.ts";
import { type Change, editText, isRecord, valueAt } from "./edit/text_editor.ts";
import type { Host, Launch } from "./host.ts";
import { isOurs, OWN_VARIABLES, SERVER_NAME } from "./ours.ts";

/** What has to be done to one config file so that its host starts our server. */
export interface Registration {
  host: Host;
  file: ConfigFile;
  outcome: "added" | "updated" | "unchanged";
  /** The text as it shall be. */
  after: string;
  /** The entry as it shall be. */
  entry: Record<string, unknown>;
}

/** Looks at a host's config file; changes nothing. @throws CliError when it cannot be edited */
export function planRegistration(host: Host, path: string, launch: Launch): Registration {
  const file = openConfig(path);
  const before = file.text ?? "";
  const at = [...host.servers, SERVER_NAME];
  const known = valueAt(host.editor.read(before, path), at);
  if (known !== undefined && !isOurs(known)) throw taken(path);
  const changes = known === undefined
    ? [{ path: at, value: newEntry(host, launch) }]
    : changesTo(host, launch, known as Record<string, unknown>, at);
  const outcome = known === undefined ? "added" : changes.length > 0 ? "updated" : "unchanged";
  if (changes.length > 0) refuseReadOnly(file);
  const after = changes.length > 0 ? editText(host.editor, before, changes, path) : before;
  const entry = valueAt(host.editor.read(after, path), at) as Record<string, unknown>;
  return { host, file, outcome, after, entry };
}

function taken(path: string): CliError {
  return new CliError(
    `Cannot register in "${path}": a server of another kind is called "${SERVER_NAME}" there`,
    { next: "give that server another name, then the same command" },
  );
}

function newEntry(host: Host, launch: Launch): Record<string, unknown> {
  const { must, once, env_key } = host.entry(launch);
  const { type, ...rest } = once;
  const env = Object.keys(launch.env).length > 0 ? { [env_key]: launch.env } : {};
  return { ...(type === undefined ? {} : { type }), ...must, ...rest, ...env };
}

/** Only what is ours: a time-out or a switch that a person has set stays. */
function changesTo(
  host: Host,
  launch: Launch,
  known: Record<string, unknown>,
  at: readonly string[],
): Change[] {
  const { must, once, env_key } = host.entry(launch);
  const changes: Change[] = [];
  const want = (keys: string[], value: unknown, is: unknown) => {
    if (JSON.stringify(value) !== JSON.stringify(is)) {
      changes.push({ path: [...at, ...keys], value });
    }
  };
  for (const [key, value] of Object.entries(must)) want([key], value, known[key]);
  for (const [key, value] of Object.entries(once)) {
    if (known[key] === undefined) want([key], value, undefined);
  }
  const env = isRecord(known[env_key]) ? known[env_key] : {};
  for (const name of OWN_VARIABLES) want([env_key, name], launch.env[name], env[name]);
  return changes;
}

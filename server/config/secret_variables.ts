import type { GlobalConfig } from "./schema.ts";

/** The environment variables of the daemon that the config names as places of secrets. */
export function secretVariables(config: GlobalConfig | null): string[] {
  const receivers = config?.notifications?.receivers ?? [];
  const named = receivers.flatMap((receiver) => [
    ...variablesIn(receiver),
    ...receiver.kind === "email" ? variablesIn(receiver.smtp) : [],
  ]);
  const token = config?.storage?.authTokenEnv;
  return token === undefined ? named : [token, ...named];
}

function variablesIn(part: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(part).flatMap(([key, value]) =>
    key.endsWith("_env") && typeof value === "string" ? [value] : []
  );
}

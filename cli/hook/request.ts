import { projectDirIn } from "../../server/hosts/project_dir.ts";
import type { TokenFile } from "../../server/runtime/quick_files.ts";
import { ask, type Dialled, NobodyError, type WireAnswer } from "../../server/runtime/wire.ts";

/** The request that asks the daemon about one hook. */
export interface HookRequest {
  method: "POST";
  target: string;
  /** The hook's input. */
  body: string;
  timeout_ms: number;
}

/** The request about a hook whose held call waits for `wait_ms`. */
export function hookRequest(
  host: string,
  body: string,
  { env, wait_ms, timeout_ms }: {
    env: Record<string, string | undefined>;
    wait_ms: number;
    timeout_ms: number;
  },
): HookRequest {
  const dir = projectDirIn(env);
  const where = dir ? `&project_dir=${encodeURIComponent(dir)}` : "";
  const target = `/api/hooks/${encodeURIComponent(host)}?wait_ms=${wait_ms}${where}`;
  return { method: "POST", target, body, timeout_ms };
}

/**
 * The answer of the daemon that runs; null if none runs or its token may not be used.
 * @throws SilentError, or Error for an answer that is not HTTP
 */
export async function askRunning(
  request: HookRequest,
  { socket, found }: { socket: string | null; found: TokenFile },
  dialled: Dialled | null = null,
): Promise<WireAnswer | null> {
  if (socket === null || !("token" in found)) return null;
  try {
    return await ask({ ...request, socket, token: found.token }, dialled);
  } catch (error) {
    if (error instanceof NobodyError) return null;
    throw error;
  }
}

import { ProblemError, unwrap } from "../server/client.ts";
import { type Connection, scopedClient } from "./daemon/connect.ts";

/** What a person should know of a project's rules: one error while all is denied, and warnings. */
export interface ProjectHealth {
  error: string | null;
  warnings: string[];
}

/** Asks the daemon how the project's config and ledger are. */
export async function askHealth(connection: Connection, id: string): Promise<ProjectHealth> {
  try {
    const { error, warnings } = await unwrap(scopedClient(connection, id).api.config.$get());
    return { error, warnings };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { error: error.problem.detail, warnings: [] };
  }
}

import { type Client, unwrap } from "../../server/client.ts";

/** A link that logs a browser in, once and within a minute; on the projects of a workspace if said. */
export async function createLoginLink(client: Client, workspace?: string): Promise<string> {
  const { path } = await unwrap(client.api.auth["login-code"].$post());
  const { port } = await unwrap(client.api.daemon.status.$get());
  // Passkeys work on this name and on no address.
  return `http://localhost:${port}${path}${workspace ? `&workspace=${workspace}` : ""}`;
}

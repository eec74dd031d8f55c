import { spawn } from "node:child_process";
import { platform } from "node:os";
import { systemProgram } from "../../server/runtime/system_program.ts";
import { type Client, unwrap } from "../../server/client.ts";
import type { Io } from "../io.ts";
import { print, say } from "../terminal/output.ts";

/** Creates a login link to the dashboard, or to a workspace in it; valid once, for a minute. */
export async function createLoginLink(client: Client, workspace?: string): Promise<string> {
  const url = await loginLink(client, await unwrap(client.api.auth["login-code"].$post()));
  return `${url}${workspace ? `&workspace=${workspace}` : ""}`;
}

/** The address at which a login code is used. */
export async function loginLink(client: Client, { path }: { path: string }): Promise<string> {
  const { port } = await unwrap(client.api.daemon.status.$get());
  // Passkeys work on this host name only, not on an IP address.
  return `http://localhost:${port}${path}`;
}

/** Prints a link to the dashboard; with `open` also opens it if the output is a terminal. */
export async function showLink(io: Io, url: string, open: boolean): Promise<void> {
  print(io, url);
  if (!open || !io.stdout.isTTY) return;
  if (!await openInBrowser(io, url)) say(io, "Cannot open a browser: open the link above yourself");
}

/** Opens an address in the user's browser; false if the program cannot be started. */
function openInBrowser(io: Io, url: string): Promise<boolean> {
  const [command, ...args] = opener(io);
  if (command === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { detached: true, stdio: "ignore" });
    child.on("error", () => resolve(false));
    child.on("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

/** The link lets its reader approve, so no program of a folder of PATH that an agent may write gets it. */
function opener(io: Io): [string | null, ...string[]] {
  if (io.env.BROWSER) return [io.env.BROWSER];
  if (platform() === "darwin") return [systemProgram("open")];
  if (platform() === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return [systemProgram("xdg-open")];
}

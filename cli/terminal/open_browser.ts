import { spawn } from "node:child_process";
import { platform } from "node:os";
import type { Io } from "../io.ts";
import { print, say } from "./output.ts";

/** Prints a link to the dashboard and, for a person at a terminal who wants that, opens it. */
export async function showLink(io: Io, url: string, open: boolean): Promise<void> {
  print(io, url);
  if (!open || !io.stdout.isTTY) return;
  if (!await openInBrowser(io, url)) say(io, "No browser could be opened: use the link above.");
}

/** Opens an address in the user's browser; false when no program for it could be started. */
function openInBrowser(io: Io, url: string): Promise<boolean> {
  const [command, ...args] = opener(io);
  return new Promise((resolve) => {
    const child = spawn(command!, [...args, url], { detached: true, stdio: "ignore" });
    child.on("error", () => resolve(false));
    child.on("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

function opener(io: Io): string[] {
  if (io.env.BROWSER) return [io.env.BROWSER];
  if (platform() === "darwin") return ["open"];
  if (platform() === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return ["xdg-open"];
}

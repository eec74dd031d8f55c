import { spawn } from "node:child_process";
import { platform } from "node:os";
import type { Io } from "./io.ts";

/** Opens an address in the user's browser; false when no program for it could be started. */
export function openInBrowser(io: Io, url: string): Promise<boolean> {
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

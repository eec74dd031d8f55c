import type { Launch } from "./host.ts";
import type { Machine } from "./machine.ts";

/** The command line by which a host's shell starts `gate hook <host>`, by its absolute path. */
export function hookLine({ command, args, env }: Launch, id: string, { os }: Pick<Machine, "os">) {
  const words = [command, ...args.slice(0, -1), "hook", id];
  if (os === "win32") return words.map(quotedForWindows).join(" ");
  const names = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`);
  return [...names, ...words.map(quoted)].join(" ");
}

const PROGRAM = String
  .raw`(?:gate(?:-(?:linux|darwin|windows|win32)[\w-]*)?(?:\.exe|\.cmd)?|gate\.mjs|cli[\\/]main\.ts)`;

/** Whether a command line starts our hook of that host, wherever gate stood when it was written. */
export function isHookLine(line: unknown, id: string): boolean {
  const ours = new RegExp(String.raw`(?:^|[\s'"\\/])${PROGRAM}['"]?\s+hook\s+['"]?${id}['"]?\s*$`);
  return typeof line === "string" && line.length <= 8_192 && ours.test(line);
}

/** One word of a command line for a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function quotedForWindows(word: string): string {
  return /^[\w.:\\/-]+$/.test(word) ? word : `"${word}"`;
}

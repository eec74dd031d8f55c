import { type ChildProcess, spawn } from "node:child_process";
import { platform } from "node:os";
import { until } from "./world.ts";

/** A program on a real terminal. */
export interface Pty {
  readonly pid: number;
  /** Everything that the terminal showed, echoes included. */
  shown(): string;
  /** Waits until the terminal shows the text after the last one that was waited for. */
  see(text: string): Promise<void>;
  type(keys: string): void;
  /** The exit code of the program. */
  readonly ended: Promise<number | null>;
}

const DEADLINE_MS = 30_000;

/** Starts a program on a pseudo-terminal of its own, with the system's `script`. */
export function openPty(
  command: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Pty {
  // Without a size the programs wrap after each character.
  const words = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const line = `stty cols 120 rows 40; exec ${words}`;
  const args = platform() === "darwin"
    ? ["-q", "/dev/null", "sh", "-c", line]
    : ["-qefc", line, "/dev/null"];
  const child: ChildProcess = spawn("script", args, { cwd, env, stdio: "pipe" });
  let text = "";
  let seen = 0;
  child.stdout!.setEncoding("utf8").on("data", (chunk: string) => text += chunk);
  return {
    pid: child.pid!,
    shown: () => text,
    async see(wanted) {
      await until(`"${wanted}" is shown`, () => text.includes(wanted, seen), DEADLINE_MS)
        .catch((error) => {
          throw new Error(`${error.message}\n${text.slice(seen)}`);
        });
      seen = text.indexOf(wanted, seen) + wanted.length;
    },
    type: (keys) => void child.stdin!.write(keys),
    ended: new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    }),
  };
}

import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { systemPlaces, systemProgram } from "./system_program.ts";

/** A writer to the system's journal, as far as the system has one. */
export interface SystemJournal {
  write(line: string): void;
  close(): void;
}

const MOST_WAITING_BYTES = 64 * 1024;

/**
 * Writes lines to the system's journal through one process of `logger`, which the first line starts.
 * Where there is none, or when it ends, later lines are dropped.
 */
export function openSystemJournal(tag: string): SystemJournal {
  let child: ChildProcess | null = null;
  const logger = process.platform === "win32"
    ? null
    : systemProgram("logger", systemPlaces(process.env));
  let isOver = logger === null;
  const open = () => {
    child = spawn(logger!, ["-t", tag], {
      stdio: ["pipe", "ignore", "ignore"],
      env: { PATH: process.env["PATH"] ?? "" },
    });
    child.unref();
    const over = () => {
      isOver = true;
    };
    child.on("error", over);
    child.on("exit", over);
    child.stdin!.on("error", over);
    (child.stdin as unknown as { unref?: () => void }).unref?.();
  };
  return {
    write(line) {
      if (isOver) return;
      if (child === null) open();
      // A journal that takes nothing must not fill the memory.
      if (child!.stdin!.writableLength < MOST_WAITING_BYTES) child!.stdin!.write(`${line}\n`);
    },
    close() {
      isOver = true;
      child?.stdin?.end();
    },
  };
}

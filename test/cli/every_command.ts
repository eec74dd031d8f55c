import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { PassThrough } from "node:stream";
import type { Io } from "../../cli/io.ts";
import { createProgram } from "../../cli/program.ts";

/** A command, and the words that call it. */
export interface Listed {
  path: string[];
  command: CommandUnknownOpts;
}

/** Every visible command and command group. */
export async function listCommands(): Promise<Listed[]> {
  const program = await createProgram(emptyIo(), () => true);
  const list: Listed[] = [];
  const walk = (command: CommandUnknownOpts, path: string[]) => {
    for (const child of command.createHelp().visibleCommands(command)) {
      if (child.name() === "help") continue;
      const listed = { path: [...path, child.name()], command: child };
      list.push(listed);
      walk(child, listed.path);
    }
  };
  walk(program, []);
  return list;
}

/** No command runs, so nothing uses this Io. */
function emptyIo(): Io {
  const stream = () => new PassThrough();
  return {
    env: {},
    cwd: "/",
    pid: 1,
    stdin: stream(),
    stdout: stream(),
    stderr: stream(),
    onSignal: () => () => {},
    onFault: () => {},
    interrupt: () => {},
    killGroup: () => {},
  };
}

import { execFile, spawn } from "node:child_process";
import { closeSync, constants, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";

/** The two ends of a pipe, as numbers of open files. */
export type Pipe = [read: number, write: number];

const [CAT, MKFIFO] = ["cat", "mkfifo"].map((name) =>
  ["/bin", "/usr/bin"].map((folder) => `${folder}/${name}`).find((path) => existsSync(path))
);

/** Whether this machine has the programs that make pipes. */
export const CAN_MAKE_PIPES = CAT !== undefined && MKFIFO !== undefined;

/** No runtime makes a pipe without a program, so one start of it makes several. */
const AHEAD = 8;
const stock: Pipe[] = [];

/** Opens this many new pipes. Nobody else has an end of one or can open it by a path. */
export async function openPipes(count: number): Promise<Pipe[]> {
  while (stock.length < count) stock.push(...await makePipes(Math.max(AHEAD, count)));
  return stock.splice(0, count);
}

async function makePipes(count: number): Promise<Pipe[]> {
  const folder = mkdtempSync(join(tmpdir(), "gate-pipes-"));
  try {
    const paths = Array.from({ length: count }, (_, at) => join(folder, `${at}`));
    await new Promise<void>((resolve, reject) =>
      execFile(MKFIFO!, ["-m", "600", ...paths], (error) => error ? reject(error) : resolve())
    );
    return paths.map(openEnds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function openEnds(path: string): Pipe {
  // Opened for both, neither end waits for the other.
  const both = openSync(path, constants.O_RDWR);
  const ends: Pipe = [openSync(path, constants.O_RDONLY), openSync(path, constants.O_WRONLY)];
  closeSync(both);
  return ends;
}

/** The part of Bun's files that is used here. */
interface BunFiles {
  file(fd: number): { stream(): ReadableStream<Uint8Array> };
}

/** The bytes that arrive at the read end of a pipe. The stream owns the file and closes it. */
export function readPipe(read: number): Readable {
  const { Bun } = globalThis as { Bun?: BunFiles };
  if (Bun) {
    const stream = Readable.fromWeb(Bun.file(read).stream() as never);
    return stream.once("close", () => closeSync(read));
  }
  if (!("Deno" in globalThis)) return new Socket({ fd: read, readable: true, writable: false });
  // Deno reads a pipe only in a thread that waits.
  const reader = spawn(CAT!, [], { stdio: [read, "pipe", "ignore"], detached: true });
  reader.on("error", () => {});
  closeSync(read);
  return reader.stdout!.once("close", () => reader.kill("SIGKILL"));
}

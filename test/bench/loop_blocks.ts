/** Preloaded into a daemon: notes how long its event loop was blocked. */
import { appendFileSync, openSync, readSync } from "node:fs";
import process from "node:process";

/** A stretch in which the event loop ran nothing else. */
export interface Block {
  /** Milliseconds since 1970, at its end. */
  at: number;
  /** Without the time in which the thread waited for a processor. */
  blocked: number;
  /** The processor time of the thread in it. */
  ran: number;
}

const TICK_MS = 1;
/** Shorter blocks are not noted. */
const LEAST_MS = 3;

const file = process.env["GATE_LOOP_BLOCKS"];
if (file !== undefined && process.argv.includes("daemon")) follow(file);

function follow(file: string): void {
  const scheduled = openSync("/proc/self/schedstat", "r");
  const buffer = new Uint8Array(128);
  const look = () => {
    const size = readSync(scheduled, buffer, 0, buffer.length, 0);
    const [ran, waited] = new TextDecoder().decode(buffer.subarray(0, size)).split(" ");
    return { at: performance.now(), ran: Number(ran) / 1e6, waited: Number(waited) / 1e6 };
  };
  let before = look();
  setInterval(() => {
    const now = look();
    const blocked = now.at - before.at - TICK_MS - (now.waited - before.waited);
    const ran = now.ran - before.ran;
    before = now;
    if (blocked < LEAST_MS) return;
    const block: Block = { at: Date.now(), blocked, ran };
    appendFileSync(file, `${JSON.stringify(block)}\n`);
    before = look();
  }, TICK_MS).unref();
}

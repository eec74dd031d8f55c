/** Tells a client that its call is alive. */
export type SendProgress = (progress: number, total: number, message: string) => void;

export interface ProgressTiming {
  first_ms: number;
  every_ms: number;
}

/** Hosts give up on a silent call after 60 s at the shortest; the first sign comes within 5 s. */
const PROGRESS_TIMING: ProgressTiming = { first_ms: 3_000, every_ms: 10_000 };

export interface ProgressOptions {
  send?: SendProgress;
  total_ms: number;
  message: () => string;
  timing?: ProgressTiming;
  now: () => number;
}

/** Sends signs of life until the returned function is called. */
export function startProgress(options: ProgressOptions): () => void {
  const { send, total_ms, message, now, timing = PROGRESS_TIMING } = options;
  if (!send) return () => {};
  const started = now();
  let sent = -1;
  const tick = () => {
    const seconds = Math.round((now() - started) / 1000);
    // The protocol wants a number that grows each time.
    sent = Math.max(sent + 1, seconds);
    send(sent, Math.max(sent, Math.round(total_ms / 1000)), message());
    timer = setTimeout(tick, timing.every_ms);
  };
  let timer = setTimeout(tick, timing.first_ms);
  return () => clearTimeout(timer);
}

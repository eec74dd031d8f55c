import { type HttpRequest, isSuccess } from "../http.ts";
import type { Means, Shot } from "./strategy.ts";

/** Notes on answers that are neither a clear win (2xx) nor a clear loss. */
export function notesOf(shots: readonly Shot[]): string[] {
  const count = (test: (shot: Shot) => boolean) => shots.filter(test).length;
  const within = (low: number, high: number) =>
    count(({ status }) => status !== null && status >= low && status <= high);
  const early = count(({ answered_us }) => answered_us !== null && answered_us < 0);
  const interim = [...new Set(shots.flatMap((shot) => shot.interim))].sort();
  const told: [number, string][] = [
    [within(429, 429), "were rate limited (429), which hides races: lift the limit for this test"],
    [
      within(300, 399),
      "were redirected (3xx): neither won nor lost; where a success redirects too, let exec.check " +
      "read the effect",
    ],
    [within(100, 199), "switched protocols (101): neither won nor lost"],
    [early, "were answered before their last byte was sent: the target did not wait for it"],
    [
      interim.length > 0 ? count((shot) => shot.interim.length > 0) : 0,
      `had interim answers (${interim.join(", ")}), which were skipped: the final status counts`,
    ],
    [
      sameWinners(shots),
      "won with the same answer: where the target only repeats the first one (Idempotency-Key), it is no race",
    ],
  ];
  return told.filter(([n]) => n > 0).map(([n, words]) => `${n} of ${shots.length} ${words}`);
}

/** The races that a volley of this kind cannot detect. */
export function blindSpotsOf(strategy: Means, request: HttpRequest, overlap: boolean): string[] {
  const names = Object.keys(request.headers).map((name) => name.toLowerCase());
  const spots: [boolean, string][] = [
    [
      strategy !== "h2" && strategy !== "pipeline",
      "Over a connection each, a volley may miss a window below 1 ms: HTTP/2, or --race-rounds with " +
      "{{uniq}}, finds it",
    ],
    [
      strategy === "h2" || strategy === "pipeline",
      "One connection reaches one instance behind a load balancer: a race between instances was not tried",
    ],
    [
      strategy === "pipeline",
      "Servers that answer pipelined requests one after the other show no race at all",
    ],
    [
      names.includes("cookie"),
      "All requests share one session (Cookie): a server that locks sessions, as PHP does, takes them one by one",
    ],
    [
      !overlap,
      "Not all requests were in flight at once: the first answer came before the last byte",
    ],
  ];
  return spots.filter(([applies]) => applies).map(([, words]) => words);
}

/** The number of 2xx answers when there are several and all are the same; else 0. */
function sameWinners(shots: readonly Shot[]): number {
  const winners = shots.filter(({ status }) => isSuccess(status));
  const kinds = new Set(winners.map(({ status, fingerprint }) => `${status} ${fingerprint}`));
  return winners.length > 1 && kinds.size === 1 ? winners.length : 0;
}

import type { Exec, ExecutionStatus } from "../schema.ts";
import type { HttpExchange } from "./http.ts";
import type { Race } from "./race.ts";

/** What is said of an execution, in one sentence. */
export interface Verdict {
  status: ExecutionStatus;
  reason: string;
}

/** One request: the status it was to answer, or anything but 5xx where none is named. */
export function judgeExchange(exec: Exec, exchange: HttpExchange): Verdict {
  if (exchange.error?.startsWith("cannot be sent")) {
    return { status: "inconclusive", reason: `The request ${exchange.error}` };
  }
  if (exchange.error !== null) return failed(`No good answer: ${exchange.error}`);
  const status = exchange.status!;
  const expected = exec.expected_status || 0;
  if (expected === 0) {
    return status >= 500
      ? failed(`Answered ${status}: the server failed`)
      : passed(`Answered ${status}`);
  }
  return status === expected
    ? passed(`Answered ${status} as expected`)
    : failed(`Answered ${status} instead of ${expected}`);
}

/**
 * A volley: more than one 2xx is the race bug; a 5xx or a transport error fails for another
 * reason; no winner at all passes, but says that it proves nothing.
 */
export function judgeRace(race: Race): Verdict {
  const count = race.shots.length;
  const winners = race.shots.filter(({ status }) =>
    status !== null && status >= 200 && status < 300
  );
  if (race.error) return failed(`The race could not be run: ${race.error}`);
  if (winners.length > 1) {
    return failed(`${winners.length} of ${count} identical requests won with a 2xx: race`);
  }
  const broken = race.shots.find(({ error }) => error !== null);
  if (broken) return failed(`A request of the race got no good answer: ${broken.error}`);
  const crashed = race.shots.find(({ status }) => status! >= 500);
  if (crashed) return failed(`The race made the server fail with ${crashed.status}`);
  if (winners.length === 0) return passed(`vacuous: none of ${count} requests won${whyNone(race)}`);
  return passed(`One of ${count} identical requests won`);
}

function whyNone({ shots }: Race): string {
  const all = (test: (status: number) => boolean) => shots.every(({ status }) => test(status!));
  if (all((status) => status === 429)) return "; all were rate limited (429), which hides races";
  if (all((status) => status >= 300 && status < 400)) return "; all were redirected";
  if (all((status) => status === 401 || status === 403)) return "; none was authorised";
  return "";
}

function passed(reason: string): Verdict {
  return { status: "passed", reason };
}

function failed(reason: string): Verdict {
  return { status: "failed", reason };
}

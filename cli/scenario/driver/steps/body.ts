import type { HttpExchange } from "../../execute/http.ts";
import { leakOf } from "../../execute/leaks.ts";
import { changedMember, identityOf, objectsOf, recordsOf, saysTheSame } from "../compare.ts";
import type { PlaybookStep } from "../playbook_schema.ts";

/** The values and answers that a step is compared with. */
export interface Seen {
  /** Replaces each `{{name}}` by its saved value. */
  fill: (text: string) => string;
  /** The answers so far, by the name of their step. */
  answers: ReadonlyMap<string, HttpExchange>;
}

/** The mistake in the body of an answer, as the end of a sentence; null without one. */
export function mistakeInBody(
  step: PlaybookStep,
  exchange: HttpExchange,
  seen: Seen,
): string | null {
  const { body } = exchange;
  const bodyOf = (name: string) => seen.answers.get(name)?.body ?? "";
  if (step.same_as && !saysTheSame(bodyOf(step.same_as), body)) {
    return `answers differently from "${step.same_as}"`;
  }
  if (step.differs_from && bodyOf(step.differs_from) === body) {
    return `answers the same as "${step.differs_from}"`;
  }
  if (step.hides !== undefined && showsRecord(body, seen.fill(step.hides))) {
    return `shows the record ${seen.fill(step.hides)}`;
  }
  if (step.keeps !== undefined && !holdsValue(body, seen.fill(step.keeps))) {
    return `does not show the record ${seen.fill(step.keeps)}`;
  }
  const leak = leakOf({ mode: "http", forbidden: step.forbidden }, exchange);
  if (leak) return `was answered ${exchange.status}, but ${leak}`;
  if (step.unchanged) {
    const { since, members } = step.unchanged;
    const member = changedMember(bodyOf(since), body, members);
    if (member) return `shows another "${member}" than "${since}"`;
  }
  return step.joins ? wrongJoin(step.joins.map(bodyOf), body, step.joins) : null;
}

function showsRecord(body: string, encoded: string): boolean {
  const ids = (recordsOf(body) ?? []).map(identityOf);
  return ids.some((id) =>
    encodeURIComponent(id.replace(/^"(.*)"$/, "$1").toWellFormed()) === encoded
  );
}

/** True where a member of any object has this value, whatever its name is. */
function holdsValue(body: string, encoded: string): boolean {
  return objectsOf(body).some((one) =>
    Object.values(one).some((value) =>
      ["string", "number"].includes(typeof value) &&
      encodeURIComponent(String(value).toWellFormed()) === encoded
    )
  );
}

/** The two halves of a page must show the records of the whole page, each once. */
function wrongJoin(halves: string[], whole: string, names: string[]): string | null {
  const ids = (body: string) => (recordsOf(body) ?? []).map(identityOf);
  const joined = halves.flatMap(ids);
  const all = ids(whole);
  if (new Set(joined).size < joined.length) return `"${names.join('" and "')}" show a record twice`;
  const lost = all.find((id) => !joined.includes(id));
  if (lost !== undefined) return `shows ${lost.slice(0, 60)}, which none of its halves shows`;
  return null;
}

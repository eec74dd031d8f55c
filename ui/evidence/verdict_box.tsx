import { Text } from "../components/text.tsx";
import type { Verdict } from "./state.ts";

/** The one thing that everybody has to see. */
export function VerdictBox({ verdict, count }: { verdict: Verdict; count: number }) {
  const { tone, headline, detail } = wordsOf(verdict, count);
  return (
    <section class={`verdict verdict-${tone}`} role="status" aria-live="polite">
      <h2>{headline}</h2>
      <p>
        <Text value={detail} />
      </p>
      {verdict.state === "checking" && <progress value={verdict.share} max={1} />}
    </section>
  );
}

function wordsOf(verdict: Verdict, count: number) {
  if (verdict.state === "checking") {
    return { tone: "busy", headline: "Checking…", detail: `${count.toLocaleString("en")} events` };
  }
  if (verdict.state === "failed") {
    return {
      tone: "bad",
      headline: "Not proven",
      detail: `It could not be checked: ${verdict.why}.`,
    };
  }
  const { ok, problem, events, compared_with } = verdict.result;
  if (!ok) {
    const where = problem?.seq == null ? "Broken" : `Broken at event ${problem.seq}`;
    return { tone: "bad", headline: where, detail: `${capital(problem?.what ?? "")}.` };
  }
  const all = `All ${events.toLocaleString("en")} events stand as they were signed`;
  const detail = compared_with.length > 0
    ? `${all}, and they fit the ${compared_with.join(" and the ")} that you gave.`
    : `${all}. Whether it was your gate that signed them, the key below tells.`;
  return { tone: "good", headline: "Unchanged", detail };
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

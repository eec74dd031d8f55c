import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Text } from "../parts/text.tsx";
import { check, matches, type Verdict, verdict } from "./check.ts";
import { Deciders } from "./deciders.tsx";
import { Events } from "./events.tsx";
import { type Content, readContent } from "./read.ts";

function Page({ content }: { content: Content }) {
  const found = useMemo(() => matches(content), [content]);
  const { project_id } = content.proof.checkpoint;
  const now = verdict.value;
  return (
    <main>
      <header>
        <p class="kind">Audit log</p>
        <h1>
          <Text value={project_id} />
        </h1>
      </header>
      <VerdictBox verdict={now} count={content.lines.length} />
      <Compare content={content} />
      <Facts content={content} />
      {now.state === "done" && <Deciders deciders={now.deciders} />}
      <Events content={content} found={found.value} />
      <footer>
        This page checks itself with its own code, which its author could have changed. To check the
        same data with your own gate, run <code>gate audit verify FILE</code>.
      </footer>
    </main>
  );
}

function Nothing() {
  return (
    <main>
      <VerdictBox verdict={{ state: "failed", why: "this file holds no audit log" }} count={0} />
    </main>
  );
}

const content = readContent();
const app = document.getElementById("app")!;
if (content === null) render(<Nothing />, app);
else {
  document.title = `Audit log: ${content.proof.checkpoint.project_id}`;
  render(<Page content={content} />, app);
  void check(content);
}

/** The result of the check. */
function VerdictBox({ verdict, count }: { verdict: Verdict; count: number }) {
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
      detail: `The check failed: ${verdict.why}.`,
    };
  }
  const { ok, problem, events, compared_with } = verdict.result;
  if (!ok) {
    const where = problem?.seq == null ? "Broken" : `Broken at event ${problem.seq}`;
    return { tone: "bad", headline: where, detail: `${capital(problem?.what ?? "")}.` };
  }
  const all = `All ${events.toLocaleString("en")} events are as they were signed`;
  const detail = compared_with.length > 0
    ? `${all}, and they match the ${compared_with.join(" and the ")} that you gave.`
    : `${all}. The public key below shows whether your gate signed them.`;
  return { tone: "good", headline: "Unchanged", detail };
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The form for a key or checkpoint from another source. */
function Compare({ content }: { content: Content }) {
  const [typed, setTyped] = useState("");
  return (
    <form
      class="compare"
      onSubmit={(event) => {
        event.preventDefault();
        void check(content, typed);
      }}
    >
      <label for="known">
        A key or a checkpoint from another source (<code>gate audit checkpoint</code>)
      </label>
      <div class="row">
        <input
          id="known"
          value={typed}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit">Compare</button>
      </div>
    </form>
  );
}

/** The period, size, key and signed head of the log. */
function Facts({ content: { proof, lines } }: { content: Content }) {
  const { checkpoint, checkpoints } = proof;
  const result = verdict.value.state === "done" ? verdict.value.result : null;
  return (
    <dl class="facts">
      <Fact name="From" value={timeOf(result?.from ?? null)} />
      <Fact name="To" value={timeOf(result?.to ?? null)} />
      <Fact name="Events" value={lines.length.toLocaleString("en")} />
      <Fact name="Signed heads" value={checkpoints.length.toLocaleString("en")} />
      <Fact name="Signed" value={timeOf(checkpoint.at)} />
      <Fact name="Public key" value={checkpoint.public_key} isCode />
      <Fact name="Head" value={`${checkpoint.seq}:${checkpoint.hash}`} isCode />
    </dl>
  );
}

function Fact({ name, value, isCode }: { name: string; value: string; isCode?: boolean }) {
  const text = <Text value={String(value)} />;
  return (
    <div class={isCode ? "wide" : ""}>
      <dt>{name}</dt>
      <dd>{isCode ? <code>{text}</code> : text}</dd>
    </div>
  );
}

function timeOf(at: string | null): string {
  return at === null ? "–" : String(at).replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

import { Text } from "../components/text.tsx";
import type { Content } from "./read.ts";
import { verdict } from "./state.ts";

/** What the log is of, and what it stands on. */
export function Facts({ content: { proof, lines } }: { content: Content }) {
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

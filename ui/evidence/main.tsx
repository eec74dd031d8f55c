import { useMemo } from "preact/hooks";
import { render } from "preact";
import { Text } from "../components/text.tsx";
import { Compare } from "./compare.tsx";
import { Deciders } from "./deciders.tsx";
import { Events } from "./events.tsx";
import { Facts } from "./facts.tsx";
import { type Content, readContent } from "./read.ts";
import { check, matches, verdict } from "./state.ts";
import { VerdictBox } from "./verdict_box.tsx";

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
        This page checks itself with the code that it brings along. Whoever made it could have
        brought other code: <code>gate audit verify FILE</code> checks the same data with yours.
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

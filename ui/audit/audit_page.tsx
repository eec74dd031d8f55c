import { useRef } from "preact/hooks";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useProject } from "../state/project.ts";
import { AllChains, Chain } from "./chain.tsx";
import { Events } from "./events.tsx";
import { Exports } from "./exports.tsx";
import { filterOf, Filters } from "./filters.tsx";

/** The audit log: the state of its chain, its events, and exports of them. */
export function AuditPage() {
  const project = useProject();
  const { query } = useAddress();
  const filter = filterOf(query);
  const body = useRef<HTMLElement>(null);
  useKeys(bind(
    "Move",
    ["j", "Select the next event", () => step(body.current, 1)],
    ["k", "Select the previous event", () => step(body.current, -1)],
  ));
  return (
    <main class="scroll page-scroll room" ref={body}>
      <div class="page-head">
        <h1>Audit</h1>
      </div>
      {project === null ? <AllChains /> : <Chain key={project} project={project} />}
      <section class="room-part" aria-labelledby="audit-log">
        <h2 id="audit-log">Log</h2>
        <Filters hasIds={project !== null} />
        <Exports project={project} filter={filter} />
        {project === null
          ? <p class="quiet">Choose a project to read its events here.</p>
          : <Events key={project} project={project} filter={filter} />}
      </section>
    </main>
  );
}

function step(body: HTMLElement | null, by: number): void {
  const rows = [...body?.querySelectorAll<HTMLElement>(".audit-events summary") ?? []];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
}

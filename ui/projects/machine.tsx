import type { DaemonStatus } from "../../server/global/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { count } from "../parts/words.ts";

/** The daemon that serves the projects, and the problems that it reports. */
export function Machine({ status }: { status: DaemonStatus }) {
  const { version, pid, port, started_at, healthy, problems } = status;
  const isWell = healthy && problems.length === 0;
  return (
    <section class="room-part" aria-labelledby="projects-hub">
      <h2 id="projects-hub">Hub</h2>
      <p class="quiet">One daemon serves every project of this machine.</p>
      <div class="panel">
        <p class={`badge tone-${isWell ? "ok" : "danger"}`}>
          <Icon name={isWell ? "check" : "alert"} />
          {isWell ? "No problem is known" : count(Math.max(1, problems.length), "problem")}
        </p>
        <ul class="projects-problems">
          {problems.map((problem) => <Text key={problem} as="li" value={problem} />)}
        </ul>
        <dl class="room-facts">
          <dt>Version</dt>
          <dd>
            <Text value={version} />
          </dd>
          <dt>Port</dt>
          <dd>{port}</dd>
          <dt>Process</dt>
          <dd>{pid}</dd>
          <dt>Started</dt>
          <dd>
            <Ago at={started_at} said />
          </dd>
        </dl>
      </div>
    </section>
  );
}

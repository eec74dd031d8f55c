import type { ComponentChildren } from "preact";
import type { AgentSession, ChildProcess } from "../../server/agent_monitor/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Path, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { bytesOf, count, number } from "../parts/words.ts";
import { cardOf, useAddress } from "../state/address.ts";
import { Bar, Fullness, Long } from "./parts.tsx";
import { dollars, keyOf, SOURCES, STATUSES } from "./words.ts";

const MOST_PATH = 120;

/** One session: what it does, what it has used, and the processes that it started. */
export function SessionCard({ session }: { session: AgentSession }) {
  const { name, cwd, held, status, title } = session;
  return (
    <article
      class={`agent agent-${status}`}
      tabIndex={-1}
      data-session={keyOf(session)}
      aria-label={`${name}, ${STATUSES[status].word}`}
    >
      <header class="agent-head">
        <h3>{name}</h3>
        <StatusMark session={session} />
        {session.last_activity_at && (
          <span class="quiet small agent-age">
            <Ago at={session.last_activity_at} said />
          </span>
        )}
      </header>
      <p class="agent-cwd code-text">
        {cwd === null
          ? <span class="quiet">folder unknown</span>
          : cwd.length > MOST_PATH
          ? <Long value={cwd} />
          : <Path value={cwd} />}
      </p>
      {title !== null && (
        <p class="agent-title">
          <Long value={title} />
        </p>
      )}
      {held && <Held held={held} />}
      {isBare(session) ? <Bare session={session} /> : <Facts session={session} />}
      <Children all={session.children} />
    </article>
  );
}

function StatusMark({ session: { status, status_source, stale } }: { session: AgentSession }) {
  const { icon, word, tone } = STATUSES[status];
  return (
    <span class={`badge tone-${tone}`} title={SOURCES[status_source]}>
      <Icon name={icon} />
      {word}
      {stale && <span class="quiet">(may be old)</span>}
    </span>
  );
}

function Held({ held: { project_id, action_id } }: { held: NonNullable<AgentSession["held"]> }) {
  const address = useAddress();
  return (
    <p class="agent-held">
      <a
        class="button button-primary"
        href={address.href("/approvals", cardOf({ id: action_id, project_id }, address.query))}
      >
        <Icon name="shield" />
        Review the held action
      </a>
    </p>
  );
}

/** Whether gate knows a process of the agent, and nothing about its session. */
function isBare({ model, tokens, turns, cost_usd, context }: AgentSession): boolean {
  return [model, tokens, turns, cost_usd, context].every((fact) => fact === null);
}

function Bare({ session }: { session: AgentSession }) {
  const { git, ports } = session;
  return (
    <>
      <p class="quiet">
        {session.name} has recorded nothing about this session yet.
      </p>
      <dl class="agent-facts">
        {git !== null && <Git git={git} />}
        {ports.length > 0 && <Ports ports={ports} />}
        <Process session={session} />
      </dl>
    </>
  );
}

function Facts({ session }: { session: AgentSession }) {
  const { model, version, turns, current_task, git, ports } = session;
  return (
    <dl class="agent-facts">
      {current_task !== null && (
        <Fact name="Tool">
          <Long value={current_task} />
        </Fact>
      )}
      <Context session={session} />
      <Tokens session={session} />
      <Fact name="Cost">
        {session.cost_usd === null
          ? <span class="quiet">unavailable: {session.name} records none</span>
          : (
            <>
              {dollars(session.cost_usd)} <span class="quiet">recorded by {session.name}</span>
            </>
          )}
      </Fact>
      <Fact name="Model">
        {model === null ? <span class="quiet">unknown</span> : <Long value={model} />}
        {version !== null && (
          <span class="quiet">
            , version <Long value={version} />
          </span>
        )}
      </Fact>
      {turns !== null && <Fact name="Requests">{number(turns)}</Fact>}
      <Subagents session={session} />
      {git !== null && <Git git={git} />}
      {ports.length > 0 && <Ports ports={ports} />}
      <Process session={session} />
    </dl>
  );
}

function Ports({ ports }: Pick<AgentSession, "ports">) {
  return <Fact name="Ports">{[...new Set(ports.map(({ port }) => port))].join(", ")}</Fact>;
}

function Process({ session: { pid, memory_bytes } }: { session: AgentSession }) {
  return (
    <Fact name="Process">
      {pid === null ? <span class="quiet">unknown</span> : pid}
      {memory_bytes !== null && <span class="quiet">, {bytesOf(memory_bytes)} of memory</span>}
    </Fact>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Context({ session: { context } }: { session: AgentSession }) {
  if (context === null) return null;
  const { used, window, percent } = context;
  return (
    <Fact name="Context">
      {percent !== null && <Bar percent={percent} />}
      <span>
        {percent !== null && `${percent} %, `}
        {number(used)}
        {window !== null && ` of ${number(window)}`} tokens{" "}
        {percent !== null && <Fullness percent={percent} />}
      </span>
    </Fact>
  );
}

function Tokens({ session: { tokens, tokens_complete } }: { session: AgentSession }) {
  if (tokens === null) {
    return (
      <Fact name="Tokens">
        <span class="quiet">unknown</span>
      </Fact>
    );
  }
  const { input, output, cache_read, cache_write, total } = tokens;
  return (
    <Fact name="Tokens">
      <details>
        <summary>
          {tokens_complete ? "" : "at least "}
          {number(total)}
        </summary>
        <ul class="agent-tokens quiet">
          <li>{number(input)} input</li>
          <li>{number(output)} output</li>
          <li>{number(cache_read)} read from the cache</li>
          <li>{number(cache_write)} written to the cache</li>
          {!tokens_complete && <li>gate still reads the older part of the record</li>}
        </ul>
      </details>
    </Fact>
  );
}

function Subagents({ session: { subagents } }: { session: AgentSession }) {
  if (subagents === null || subagents.length === 0) return null;
  const working = subagents.filter(({ status }) => status === "working").length;
  return (
    <Fact name="Subagents">
      {number(subagents.length)}
      <span class="quiet">
        {working > 0 && `, ${number(working)} working`}
      </span>
    </Fact>
  );
}

function Git({ git: { branch, changed_files } }: { git: NonNullable<AgentSession["git"]> }) {
  return (
    <Fact name="Git">
      {branch === null ? <span class="quiet">no branch</span> : <Long value={branch} />}
      {changed_files !== null && (
        <span class="quiet">
          , {changed_files === 0 ? "nothing changed" : `${count(changed_files, "changed file")}`}
        </span>
      )}
    </Fact>
  );
}

function Children({ all }: { all: ChildProcess[] }) {
  if (all.length === 0) return null;
  const listening = all.filter(({ ports }) => ports.length > 0).length;
  return (
    <details class="agent-children">
      <summary>
        {all.length === 1 ? "1 child process" : `${number(all.length)} child processes`}
        {listening > 0 && <span class="quiet">, {number(listening)} with a port</span>}
      </summary>
      <ul>
        {all.map(({ pid, command, memory_bytes, ports }) => (
          <li key={pid}>
            <code>
              <Text value={command} />
            </code>
            <span class="quiet">
              process {pid}
              {memory_bytes !== null && `, ${bytesOf(memory_bytes)}`}
              {ports.length > 0 && `, port ${ports.map(({ port }) => port).join(", ")}`}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { RouteTestResult } from "../../server/approval_routes/schema.ts";
import type { Member } from "../../server/team/schema.ts";
import { Segmented } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useProject } from "../state/project.ts";

type Subject = "path" | "command";

/** Shows which route an action would take, without submitting one. */
export function RouteTester({ members }: { members: Member[] }) {
  const project = useProject();
  const subject = useSignal<Subject>("path");
  const text = useSignal("");
  const risk = useSignal<"low" | "medium" | "high" | "critical">("low");
  const result = useSignal<RouteTestResult | null>(null);
  const trouble = useSignal<string | null>(null);
  const id = useId();
  const test = async () => {
    const asked = text.peek().trim();
    if (asked === "") return;
    const about = subject.peek() === "path" ? { path: asked } : { command: asked };
    try {
      const client = api(project ?? undefined).api["approval-routes"].test;
      result.value = await unwrap(client.$post({ json: { ...about, risk: risk.peek() } }));
      trouble.value = null;
    } catch (error) {
      result.value = null;
      trouble.value = explain(error);
    }
  };
  return (
    <section class="team-part" aria-labelledby="team-test">
      <h2 id="team-test">Who would be asked?</h2>
      <form
        class="form"
        aria-label="Test the routes"
        onSubmit={(event) => {
          event.preventDefault();
          void test();
        }}
      >
        <Segmented
          label="What an agent would do"
          value={subject.value}
          options={[{ value: "path", label: "Write a file" }, {
            value: "command",
            label: "Run a command",
          }]}
          onChange={(value) => subject.value = value}
        />
        <label for={`${id}-text`}>{subject.value === "path" ? "Path" : "Command"}</label>
        <span class="field">
          <input
            id={`${id}-text`}
            required
            spellcheck={false}
            autocomplete="off"
            value={text.value}
            onInput={(event) => text.value = event.currentTarget.value}
          />
        </span>
        <label for={`${id}-risk`}>Risk</label>
        <span class="choice">
          <select
            id={`${id}-risk`}
            value={risk.value}
            onChange={(event) => risk.value = event.currentTarget.value as typeof risk.value}
          >
            {["low", "medium", "high", "critical"].map((one) => (
              <option key={one} value={one}>{one}</option>
            ))}
          </select>
          <Icon name="chevron" />
        </span>
        <button type="submit" class="button button-primary">
          <Icon name="search" />
          <span>Test the routes</span>
        </button>
      </form>
      <div role="status" class="team-result">
        {trouble.value !== null && (
          <p class="notice tone-danger">
            <Icon name="alert" />
            <Text as="span" value={trouble.value} />
          </p>
        )}
        {result.value !== null && <Answer result={result.value} members={members} />}
      </div>
    </section>
  );
}

const EFFECTS = {
  allow: "The policy allows it: nobody is asked.",
  ask: "The policy asks about it.",
  deny: "The policy denies it: nobody is asked.",
} as const;

function Answer({ result, members }: { result: RouteTestResult; members: Member[] }) {
  const { effect, route, why, need, asked, considered } = result;
  const nameOf = (id: string) => members.find((member) => member.id === id)?.name ?? id;
  return (
    <>
      <p>
        <strong>{EFFECTS[effect]}</strong>{" "}
        {route === null ? <>It takes no route, so one person approves.</> : (
          <>
            {effect === "ask" ? "It takes" : "Held, it would take"} route{" "}
            <Text value={route.name} />: {count(need, "approval")} of{" "}
            <Text value={asked.map(nameOf).join(", ")} />.
          </>
        )}
      </p>
      {route !== null && (
        <p class="quiet">
          <Text value={why} />
        </p>
      )}
      {considered.length > 0 && (
        <ul class="team-considered small">
          {considered.map((one) => (
            <li key={one.id}>
              <Icon name={one.matches ? "check" : "x"} />
              <span>
                <Text value={one.name} />: {one.matches ? "matches" : "does not match"},{" "}
                <Text value={one.why} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

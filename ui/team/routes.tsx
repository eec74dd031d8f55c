import { useSignal } from "@preact/signals";
import type { AddRouteInput, ApprovalRoute } from "../../server/approval_routes/schema.ts";
import type { Member } from "../../server/team/schema.ts";
import { Button } from "../parts/button.tsx";
import { Code, Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { useWorking } from "../parts/working.ts";
import { api, unwrap } from "../state/client.ts";
import { RouteForm } from "./route_form.tsx";

interface RoutesProps {
  routes: ApprovalRoute[];
  members: Member[];
  canChange: boolean;
  onChange: () => void;
}

/** The approval routes: which held actions need whose approval. */
export function Routes({ routes, members, canChange, onChange }: RoutesProps) {
  return (
    <section class="team-part" aria-labelledby="team-routes">
      <h2 id="team-routes">Routes</h2>
      <p class="quiet">
        A route says who approves which held actions, and how many of them. Of several routes that
        match, the one with the most people counts. Without a route one person approves.
      </p>
      {routes.length === 0 && <p>There is no route: every held action needs one approval.</p>}
      <ul class="team-list">
        {routes.map((route) => (
          <RouteRow
            key={route.id}
            route={route}
            members={members}
            canChange={canChange}
            onChange={onChange}
          />
        ))}
      </ul>
      {canChange && <AddRoute members={members} onChange={onChange} />}
    </section>
  );
}

interface RouteRowProps extends Omit<RoutesProps, "routes"> {
  route: ApprovalRoute;
}

function AddRoute({ members, onChange }: { members: Member[]; onChange: () => void }) {
  const { busy, run } = useWorking(onChange);
  const turn = useSignal(0);
  const add = async (json: AddRouteInput) => {
    const added = await run(
      () => unwrap(api().api["approval-routes"].$post({ json })),
      `Route ${json.name} is in force`,
    );
    // A new form is empty.
    if (added !== null) turn.value += 1;
  };
  return (
    <details class="team-add">
      <summary>Add a route</summary>
      <RouteForm
        key={turn.value}
        members={members}
        busy={busy.value}
        onSave={(json) => void add(json)}
      />
    </details>
  );
}

function RouteRow({ route, members, canChange, onChange }: RouteRowProps) {
  const { id, name, quorum, approvers, ordered, escalate_to, escalate_after_seconds } = route;
  const step = useSignal<"change" | "remove" | null>(null);
  const { busy, run } = useWorking(onChange);
  const nameOf = (one: string) => members.find((member) => member.id === one)?.name ?? one;
  const people = [
    ...approvers.members.map(nameOf),
    ...approvers.role === null ? [] : [`every ${approvers.role} or higher`],
  ];
  const one = () => api().api["approval-routes"][":id"];
  const save = async (json: AddRouteInput) => {
    const changed = await run(
      () => unwrap(one().$patch({ param: { id }, json })),
      `Route ${json.name} is changed`,
    );
    if (changed !== null) step.value = null;
  };
  const remove = () =>
    run(
      () => unwrap(one().$delete({ param: { id } })),
      `Route ${name} is removed`,
    );
  return (
    <li class="team-row" aria-label={name}>
      <div class="team-who">
        <p>
          <strong>
            <Text value={name} />
          </strong>{" "}
          <span class="quiet">
            <Text value={id} />
          </span>
        </p>
        <p>
          {count(quorum, "approval")} of <Text value={people.join(", ")} />
          {ordered && ", one after the other"}
        </p>
        <Match route={route} />
        {escalate_after_seconds !== null && (
          <p class="quiet small">
            After {spanOf(escalate_after_seconds)} also{" "}
            <Text value={escalate_to.map(nameOf).join(", ")} />
          </p>
        )}
        {route.expires_after_seconds !== null && (
          <p class="quiet small">Expires after {spanOf(route.expires_after_seconds)}</p>
        )}
      </div>
      {canChange && step.value === "change" && (
        <RouteForm
          route={route}
          members={members}
          busy={busy.value}
          onSave={(json) => void save(json)}
          onCancel={() => step.value = null}
        />
      )}
      {canChange && step.value !== "change" && (
        <div class="room-buttons">
          {step.value === "remove"
            ? (
              <>
                <Button kind="danger" busy={busy.value} onClick={() => void remove()}>
                  Remove {name}
                </Button>
                <Button kind="quiet" onClick={() => step.value = null}>Back</Button>
              </>
            )
            : (
              <>
                <Button onClick={() => step.value = "change"}>Change</Button>
                <Button kind="danger" icon="trash" onClick={() => step.value = "remove"}>
                  Remove
                </Button>
              </>
            )}
        </div>
      )}
    </li>
  );
}

const SUBJECTS = ["paths", "commands", "tools", "agents", "hosts", "projects"] as const;

function Match({ route: { match } }: { route: ApprovalRoute }) {
  const used = SUBJECTS.filter((subject) => match[subject].length > 0);
  if (used.length === 0 && match.min_risk === null) {
    return <p class="quiet small">Matches every held action</p>;
  }
  return (
    <div class="team-match small">
      {used.map((subject) => (
        <p key={subject}>
          <span class="quiet">{subject}</span>{" "}
          {match[subject].map((pattern) => <Code key={pattern} value={pattern} />)}
        </p>
      ))}
      {match.min_risk !== null && <p class="quiet">risk from {match.min_risk}</p>}
    </div>
  );
}

/** "30 minutes", "2 hours": whole units where they fit. */
function spanOf(seconds: number): string {
  const units = [[86_400, "day"], [3_600, "hour"], [60, "minute"]] as const;
  const [size, word] = units.find(([one]) => seconds % one === 0) ?? [1, "second"];
  return count(seconds / size, word);
}

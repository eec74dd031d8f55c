import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { AddRouteInput, ApprovalRoute } from "../../server/approval_routes/schema.ts";
import type { Member } from "../../server/team/schema.ts";
import { Form, SelectField, TextField } from "../parts/form.tsx";
import { Text } from "../parts/text.tsx";

const RISKS = ["any", "medium", "high", "critical"] as const;

interface RouteFormProps {
  members: Member[];
  /** The route that is changed; absent for a new one. */
  route?: ApprovalRoute;
  busy: boolean;
  onSave: (route: AddRouteInput) => void;
  onCancel?: () => void;
}

/** The fields of a route: what it matches, who approves, and how many of them. The rest stays. */
export function RouteForm({ members, route, busy, onSave, onCancel }: RouteFormProps) {
  const name = useSignal(route?.name ?? "");
  const paths = useSignal(route?.match.paths.join("\n") ?? "");
  const commands = useSignal(route?.match.commands.join("\n") ?? "");
  const risk = useSignal<typeof RISKS[number]>(riskOf(route));
  const chosen = useSignal<readonly string[]>(route?.approvers.members ?? []);
  const quorum = useSignal(route?.quorum ?? 1);
  const ids = useId();
  const able = members.filter(({ role }) => role !== "viewer");
  const save = () => {
    // In the order in which they were chosen, because an ordered route asks them in it.
    const named = chosen.peek().filter((id) => able.some((one) => one.id === id));
    const min_risk = risk.peek();
    const role = route?.approvers.role ?? null;
    onSave({
      name: name.peek().trim(),
      match: {
        ...route ? route.match : NOTHING,
        paths: patternsIn(paths.peek()),
        commands: patternsIn(commands.peek()),
        min_risk: min_risk === "any" ? null : min_risk,
      },
      // Without a name, everybody who may approve is asked.
      approvers: named.length > 0
        ? { members: named, role }
        : { members: [], role: role ?? "reviewer" },
      quorum: quorum.peek(),
    });
  };
  const turn = (id: string) =>
    chosen.value = chosen.value.includes(id)
      ? chosen.value.filter((one) => one !== id)
      : [...chosen.value, id];
  return (
    <Form
      label={route ? `Change ${route.name}` : "Add a route"}
      verb={route ? "Save the route" : "Add the route"}
      busy={busy}
      onSubmit={save}
      onCancel={onCancel}
    >
      <TextField label="Name" value={name} required maxLength={200} />
      <TextField label="Paths, one pattern a line, such as deploy/**" value={paths} rows={2} />
      <TextField
        label="Commands, one pattern a line, such as terraform *"
        value={commands}
        rows={2}
      />
      <SelectField label="Lowest risk" value={risk} options={RISKS} />
      <fieldset>
        <legend>Approvers; none means every reviewer</legend>
        {able.map(({ id, name }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={chosen.value.includes(id)}
              onChange={() => turn(id)}
            />{" "}
            <Text value={name} />
          </label>
        ))}
      </fieldset>
      <label for={`${ids}-quorum`}>How many must approve</label>
      <span class="field team-number">
        <input
          id={`${ids}-quorum`}
          type="number"
          min={1}
          max={100}
          required
          value={quorum.value}
          onInput={(event) => quorum.value = Number(event.currentTarget.value)}
        />
      </span>
    </Form>
  );
}

const NOTHING = {
  paths: [],
  commands: [],
  tools: [],
  agents: [],
  hosts: [],
  projects: [],
  min_risk: null,
};

function riskOf(route: ApprovalRoute | undefined): typeof RISKS[number] {
  const level = route?.match.min_risk ?? "low";
  return level === "low" ? "any" : level;
}

function patternsIn(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

import type { ConfigView } from "../../server/config/schema.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Code, Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { useWorking } from "../parts/working.ts";
import { api, unwrap } from "../state/client.ts";

/** Whether the file is in force as it is, and whether it may replace the machine's rules. */
export function State({ view, onChange }: { view: ConfigView; onChange: () => void }) {
  const { path, error, warnings, outside_changes } = view;
  const waiting = outside_changes.filter((change) => change.waiting).length;
  return (
    <section class="panel policy-state" aria-label="State">
      {error !== null
        ? (
          <p class="badge tone-danger">
            <Icon name="octagon" />
            <Text as="span" value={error} />
          </p>
        )
        : waiting > 0
        ? (
          <p class="badge tone-warn">
            <Icon name="alert" />
            <span>
              {count(waiting, "changed file")}{" "}
              may allow more. The rules before hold until you accept the change above.
            </span>
          </p>
        )
        : (
          <p class="badge tone-ok">
            <Icon name="lock" />
            Every change of the rules is accepted and in force
          </p>
        )}
      <p class="quiet">
        {path === null
          ? "This project has no config file of its own, so the machine’s rules and the builtin ones hold."
          : <Code value={path} />}
      </p>
      {warnings.map((warning) => (
        <p key={warning} class="policy-warning">
          <Icon name="info" />
          <Text as="span" value={warning} />
        </p>
      ))}
      <Override view={view} onChange={onChange} />
    </section>
  );
}

/** `overrideGlobal` of the project's config, which holds only while a person trusts it. */
function Override({ view: { project_id, effective }, onChange }: {
  view: ConfigView;
  onChange: () => void;
}) {
  const { busy, run } = useWorking(onChange);
  const state = effective.override_global;
  if (state === "off") return null;
  const isTrusted = state === "trusted";
  const turn = () => {
    const trust = api().api.hub.projects[":id"]["override-trust"];
    const param = { id: project_id };
    void (isTrusted
      ? run(
        () => unwrap(trust.$delete({ param })),
        "The machine’s rules hold for this project again",
      )
      : run(() => unwrap(trust.$put({ param })), "This project’s rules replace the machine’s"));
  };
  return (
    <div class="room-buttons">
      <p>
        {isTrusted
          ? "This project’s rules replace the machine’s, because a person trusts it."
          : "This project asks to replace the machine’s rules. Nobody trusts it yet, so they still hold."}
      </p>
      <Button busy={busy.value} kind={isTrusted ? "plain" : "danger"} onClick={turn}>
        {isTrusted ? "Let the machine’s rules hold again" : "Trust this project"}
      </Button>
    </div>
  );
}

import { useSignal } from "@preact/signals";
import { LineForm } from "../parts/form.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { announce } from "../parts/toast.tsx";
import { useWorking } from "../parts/working.ts";
import { api, unwrap } from "../state/client.ts";
import { refreshMachine } from "../state/live.ts";

/** Registers the project of a folder that has a config already. */
export function AddProject() {
  const root = useSignal("");
  const warnings = useSignal<string[]>([]);
  const { busy, run } = useWorking(refreshMachine);
  const add = async () => {
    const json = { root: root.peek().trim() };
    if (json.root === "") return;
    const added = await run(() => unwrap(api().api.hub.projects.$post({ json })), null);
    if (added === null) return;
    announce({ text: `${added.name} is registered`, tone: "ok" }, null);
    warnings.value = added.warnings;
    root.value = "";
  };
  return (
    <div class="room-part">
      <LineForm
        name="Register a project"
        label="Register a project that has a gate.config.json"
        icon="folder"
        value={root}
        maxLength={4096}
        placeholder="/home/you/code/my-app"
        verb="Register"
        busy={busy.value}
        onSubmit={() => void add()}
      >
        {warnings.value.map((warning) => (
          <p key={warning} class="notice tone-warn" role="status">
            <Icon name="alert" />
            <Text as="span" value={warning} />
          </p>
        ))}
      </LineForm>
    </div>
  );
}

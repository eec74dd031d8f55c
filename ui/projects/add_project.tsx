import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
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
  const field = useId();
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
    <form
      class="room-part projects-form"
      aria-label="Register a project"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <label for={field}>Register a project that has a gate.config.json</label>
      <div class="projects-fields">
        <span class="field">
          <Icon name="folder" />
          <input
            id={field}
            required
            maxLength={4096}
            spellcheck={false}
            autocomplete="off"
            placeholder="/home/you/code/my-app"
            value={root.value}
            onInput={(event) => root.value = event.currentTarget.value}
          />
        </span>
        <button
          type="submit"
          class="button button-plain"
          aria-disabled={busy.value ? "true" : undefined}
        >
          <Icon name="check" />
          <span>Register</span>
        </button>
      </div>
      {warnings.value.map((warning) => (
        <p key={warning} class="notice tone-warn" role="status">
          <Icon name="alert" />
          <Text as="span" value={warning} />
        </p>
      ))}
    </form>
  );
}

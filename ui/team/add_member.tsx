import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Role } from "../../server/team/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { api, unwrap } from "../state/client.ts";
import { RoleChoice } from "./role_choice.tsx";
import { useWorking } from "../parts/working.ts";

/** Adds a member by name, role and, if given, e-mail address. */
export function AddMember({ onChange }: { onChange: () => void }) {
  const name = useSignal("");
  const email = useSignal("");
  const role = useSignal<Role>("reviewer");
  const ids = useId();
  const { busy, run } = useWorking(onChange);
  const add = async () => {
    const given = { name: name.peek().trim(), role: role.peek() };
    if (given.name === "") return;
    const address = email.peek().trim();
    const json = { ...given, ...address !== "" && { email: address } };
    const added = await run(
      () => unwrap(api().api.team.members.$post({ json })),
      `${given.name} is in the team. Create a login link for them`,
    );
    if (added === null) return;
    name.value = "";
    email.value = "";
  };
  return (
    <form
      class="team-form"
      aria-label="Add a member"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <h3>Add a member</h3>
      <label for={`${ids}-name`}>Name</label>
      <span class="field">
        <input
          id={`${ids}-name`}
          required
          maxLength={200}
          autocomplete="off"
          value={name.value}
          onInput={(event) => name.value = event.currentTarget.value}
        />
      </span>
      <label for={`${ids}-email`}>E-mail, if you like</label>
      <span class="field">
        <input
          id={`${ids}-email`}
          type="email"
          maxLength={254}
          autocomplete="off"
          value={email.value}
          onInput={(event) => email.value = event.currentTarget.value}
        />
      </span>
      <RoleChoice name="the new member" role={role.value} onChange={(next) => role.value = next} />
      <button
        type="submit"
        class="button button-primary"
        aria-disabled={busy.value ? "true" : undefined}
      >
        <Icon name="check" />
        <span>Add a member</span>
      </button>
    </form>
  );
}

import { useSignal } from "@preact/signals";
import type { Role } from "../../server/team/schema.ts";
import { Form, TextField } from "../parts/form.tsx";
import { api, unwrap } from "../state/client.ts";
import { RoleChoice } from "./role_choice.tsx";
import { useWorking } from "../parts/working.ts";

/** Adds a member by name, role and, if given, e-mail address. */
export function AddMember({ onChange }: { onChange: () => void }) {
  const name = useSignal("");
  const email = useSignal("");
  const role = useSignal<Role>("reviewer");
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
    <Form
      label="Add a member"
      verb="Add a member"
      busy={busy.value}
      onSubmit={() => void add()}
    >
      <h3>Add a member</h3>
      <TextField label="Name" value={name} required maxLength={200} />
      <TextField label="E-mail, if you like" value={email} type="email" maxLength={254} />
      <span class="choice-named">
        <span aria-hidden="true">Role</span>
        <RoleChoice
          name="the new member"
          role={role.value}
          onChange={(next) => role.value = next}
        />
      </span>
    </Form>
  );
}

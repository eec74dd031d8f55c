import { useId } from "preact/hooks";
import type { Role } from "../../server/team/schema.ts";
import { Icon } from "../parts/icon.tsx";

const ROLES: readonly Role[] = ["viewer", "reviewer", "admin"];

interface RoleChoiceProps {
  name: string;
  role: Role;
  onChange: (role: Role) => void;
}

/** A choice of the role; it keeps the present one until the daemon took the change. */
export function RoleChoice({ name, role, onChange }: RoleChoiceProps) {
  const id = useId();
  return (
    <span class="choice">
      <label class="visually-hidden" for={id}>Role of {name}</label>
      <select
        id={id}
        value={role}
        onChange={(event) => {
          const next = event.currentTarget.value as Role;
          event.currentTarget.value = role;
          onChange(next);
        }}
      >
        {ROLES.map((one) => <option key={one} value={one}>{one}</option>)}
      </select>
      <Icon name="chevron" />
    </span>
  );
}

import { useAddress } from "../state/address.ts";
import { Icon } from "./icon.tsx";
import { flatten } from "../../server/shown/visible.ts";

interface ChoiceProps {
  name: string;
  label: string;
  all: string;
  options: Record<string, string>;
}

/** A filter with a few values; the URL holds the chosen one. */
export function Choice({ name, label, all, options }: ChoiceProps) {
  const address = useAddress();
  return (
    <label class="choice">
      <span class="visually-hidden">{label}</span>
      <select
        value={address.query[name] ?? ""}
        onChange={(event) =>
          address.set({ [name]: event.currentTarget.value, cursor: null }, { push: true })}
      >
        <option value="">{all}</option>
        {Object.entries(options).map(([value, word]) => (
          <option key={value} value={value}>{flatten(word)}</option>
        ))}
      </select>
      <Icon name="chevron" />
    </label>
  );
}

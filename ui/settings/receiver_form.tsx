import { type Signal, useSignal } from "@preact/signals";
import type { Receiver } from "../../server/config/notifications/schema.ts";
import { Form, SelectField, TextField } from "../parts/form.tsx";

const KINDS = ["webhook", "slack", "discord", "email", "desktop"] as const;
const RISKS = ["any", "medium", "high", "critical"] as const;
const SECURITIES = ["tls", "starttls", "none"] as const;

interface FormProps {
  /** The receiver that is changed; absent for a new one. */
  receiver?: Receiver;
  busy: boolean;
  onSave: (receiver: Receiver) => void;
  onCancel?: () => void;
}

/** The fields of a receiver. The daemon checks them; secrets are only named here, never typed. */
export function ReceiverForm({ receiver, busy, onSave, onCancel }: FormProps) {
  const fields = useFields(receiver);
  const { kind, risk, security } = fields;
  return (
    <Form
      label={receiver ? `Change ${receiver.id}` : "Add a receiver"}
      verb={receiver ? "Save and accept" : "Add and accept"}
      busy={busy}
      onSubmit={() => onSave(receiverOf(fields, receiver))}
      onCancel={onCancel}
    >
      {!receiver && (
        <>
          <SelectField label="Kind" value={kind} options={KINDS} />
          <TextField label="Name" value={fields.id} required />
        </>
      )}
      {kind.value === "webhook" && (
        <TextField label="Address, https://…" value={fields.url} type="url" required />
      )}
      {(kind.value === "slack" || kind.value === "discord") && (
        <TextField label={`Address: ${NAMED}`} value={fields.secret} required />
      )}
      {kind.value === "webhook" && (
        <TextField label={`Secret whsec_…: ${NAMED}`} value={fields.secret} required />
      )}
      {kind.value === "email" && (
        <>
          <TextField label="Mail server" value={fields.host} required />
          <SelectField label="Connection" value={security} options={SECURITIES} />
          <TextField label="Port (optional)" value={fields.port} type="number" />
          <TextField label="User (optional)" value={fields.user} />
          {fields.user.value !== "" && (
            <TextField label={`Password: ${NAMED}`} value={fields.secret} required />
          )}
          <TextField label="Sender" value={fields.from} type="email" required />
          <TextField label="To, with commas between (optional)" value={fields.to} />
        </>
      )}
      <SelectField label="Lowest risk" value={risk} options={RISKS} />
      <label class="field-check">
        <input
          type="checkbox"
          checked={fields.details.value}
          onChange={(event) => fields.details.value = event.currentTarget.checked}
        />
        <span>Send what the agent wrote: path, command, name</span>
      </label>
    </Form>
  );
}

const NAMED = "a variable of the daemon, or a file /…";

function useFields(receiver: Receiver | undefined) {
  const smtp = receiver?.kind === "email" ? receiver.smtp : undefined;
  const named = receiver as Partial<Record<string, string>> | undefined;
  const secret = named?.["secret_env"] ?? named?.["secret_file"] ?? smtp?.password_env ??
    smtp?.password_file ??
    (receiver?.kind === "webhook" ? "" : named?.["url_env"] ?? named?.["url_file"]) ?? "";
  return {
    kind: useSignal<typeof KINDS[number]>(receiver?.kind ?? "webhook"),
    id: useSignal(receiver?.id ?? ""),
    url: useSignal(named?.["url"] ?? ""),
    secret: useSignal(secret),
    host: useSignal(smtp?.host ?? ""),
    port: useSignal(smtp?.port === undefined ? "" : String(smtp.port)),
    security: useSignal<typeof SECURITIES[number]>(smtp?.security ?? "tls"),
    user: useSignal(smtp?.user ?? ""),
    from: useSignal(receiver?.kind === "email" ? receiver.from : ""),
    to: useSignal(receiver?.kind === "email" ? receiver.to?.join(", ") ?? "" : ""),
    risk: useSignal<typeof RISKS[number]>(
      receiver?.min_risk === undefined || receiver.min_risk === "low" ? "any" : receiver.min_risk,
    ),
    details: useSignal(receiver?.details ?? true),
  };
}

type Fields = ReturnType<typeof useFields>;

/** The receiver of the fields. What the form does not show stays as it is. */
function receiverOf(fields: Fields, before: Receiver | undefined): Receiver {
  const { id, kind, url, secret, host, port, security, user, from, to, risk, details } = fields;
  const text = (field: Signal<string>) => field.value.trim();
  const addresses = text(to).split(",").map((one) => one.trim()).filter((one) => one !== "");
  const { on, members, projects } = before ?? {};
  const shared = {
    id: text(id),
    kind: kind.value,
    ...on && { on },
    ...members && { members },
    ...projects && { projects },
    ...risk.value !== "any" && { min_risk: risk.value },
    ...!details.value && { details: false },
  };
  const own = {
    webhook: () => ({ ...addressOf(before, text(url)), ...named("secret", text(secret)) }),
    slack: () => named("url", text(secret)),
    discord: () => named("url", text(secret)),
    desktop: () => ({}),
    email: () => ({
      smtp: {
        host: text(host),
        ...text(port) !== "" && { port: Number(text(port)) },
        ...security.value !== "tls" && { security: security.value },
        ...text(user) !== "" && { user: text(user), ...named("password", text(secret)) },
      },
      from: text(from),
      ...addresses.length > 0 && { to: addresses },
    }),
  }[kind.value]();
  // The daemon validates it, with the cause in words.
  return { ...shared, ...own } as Receiver;
}

/** A webhook whose address is a secret keeps it while the field is empty. */
function addressOf(before: Receiver | undefined, url: string) {
  if (url !== "" || before?.kind !== "webhook") return { url };
  const { url_env, url_file } = before;
  return { ...url_env && { url_env }, ...url_file && { url_file } };
}

function named(what: "secret" | "url" | "password", name: string): Record<string, string> {
  return { [`${what}_${/^(\/|[A-Za-z]:[\\/])/.test(name) ? "file" : "env"}`]: name };
}

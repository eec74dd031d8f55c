import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { refusePassphrase } from "../../server/proof/passphrase.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { announce } from "../parts/toast.tsx";
import { explain } from "../state/client.ts";
import { setPasskey, setPassphrase } from "./enrol.ts";
import { PassphraseField, Progress, Trouble } from "./fields.tsx";
import { whyNoPasskey } from "./passkey.ts";

interface SetFormProps {
  onDone: () => void;
  /** The label of the button that leaves the form. */
  leave: string;
  onLeave: () => void;
}

/** Sets a passphrase or creates a passkey. */
export function SetForm({ onDone, leave, onLeave }: SetFormProps) {
  const field = useRef<HTMLInputElement>(null);
  const typed = useSignal("");
  const repeated = useSignal("");
  const part = useSignal<number | null>(null);
  const busy = useSignal(false);
  const trouble = useSignal<string | null>(null);
  const run = async (work: () => Promise<void>, done: string) => {
    if (busy.peek()) return;
    busy.value = true;
    trouble.value = null;
    try {
      await work();
      announce({ text: done, tone: "ok" }, null);
      onDone();
    } catch (error) {
      trouble.value = explain(error);
    }
    part.value = null;
    busy.value = false;
  };
  const save = () => {
    const refused = refusePassphrase(typed.peek());
    if (refused !== null) trouble.value = `Choose a longer passphrase: ${refused}.`;
    else if (typed.peek() !== repeated.peek()) trouble.value = "The two passphrases differ.";
    else {
      void run(
        () => setPassphrase(typed.peek(), (done) => part.value = done),
        "The passphrase is set, and this page is unlocked",
      );
    }
    if (trouble.peek() !== null) field.current?.select();
  };
  const without = whyNoPasskey();
  return (
    <form
      class="proof-form"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <PassphraseField
        field={field}
        label="New passphrase"
        value={typed}
        complete="new-password"
        isBusy={busy.value}
        hint="At least 8 characters; several words are better. Nobody can recover it."
      />
      <PassphraseField
        label="The same passphrase again"
        value={repeated}
        complete="new-password"
        isBusy={busy.value}
      />
      <Trouble text={trouble.value} />
      <Progress part={part.value} label="Making the key" />
      <div class="proof-buttons">
        <button
          type="submit"
          class="button button-primary"
          aria-disabled={busy.value ? "true" : undefined}
        >
          <Icon name="check" />
          <span>Set the passphrase</span>
        </button>
        <Button
          icon="key"
          disabled={without !== null}
          title={without ?? undefined}
          busy={busy.value}
          onClick={() => void run(setPasskey, "The passkey is set")}
        >
          Use a passkey
        </Button>
        <Button kind="quiet" onClick={onLeave}>{leave}</Button>
      </div>
      {without !== null && <p class="quiet small">{without}</p>}
    </form>
  );
}

import { signal } from "@preact/signals";
import { Dialog } from "../parts/dialog.tsx";
import { proof } from "../state/proof.ts";
import { SetForm } from "./set_form.tsx";

const NAME = "gate.proof.later";

/** Whether the person put off choosing a proof, in this tab. */
const isLater = signal(readLater());

/** Whether the person opened the dialog again. */
const isOpen = signal(false);

/** Opens the dialog that sets a passphrase or a passkey. */
export function openSetDialog(): void {
  isOpen.value = true;
}

/** Asks for a passphrase or a passkey while none is set; a person may skip it. */
export function FirstRun() {
  const isFirst = proof.value?.kind === "none" && proof.value.problem === null && !isLater.value;
  if (!isFirst && !isOpen.value) return null;
  const close = () => {
    isOpen.value = false;
    if (isFirst) putOff();
  };
  return (
    <Dialog title="Show that it is you who approves" onClose={close} class="dialog-proof">
      <p class="proof-lead">
        Every program of your user can read gate’s files, an agent’s commands too. Your passphrase
        or passkey is in no file. gate asks for it before it executes what an agent wants.
      </p>
      <p class="proof-lead">
        <strong>Until you set one, nothing can be approved.</strong>{" "}
        You can still look at everything and reject.
      </p>
      <SetForm onDone={() => isOpen.value = false} leave="Not now" onLeave={close} />
    </Dialog>
  );
}

function putOff(): void {
  isLater.value = true;
  try {
    sessionStorage.setItem(NAME, "1");
  } catch {
    // Without storage, the next load asks again.
  }
}

function readLater(): boolean {
  try {
    return sessionStorage.getItem(NAME) !== null;
  } catch {
    return false;
  }
}

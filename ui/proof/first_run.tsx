import { Dialog } from "../parts/dialog.tsx";
import { closeSetDialog, isChoosing } from "./choosing.ts";
import { SetForm } from "./set_form.tsx";

/** Asks for a passphrase or a passkey while none is set; a person may skip it. */
export function FirstRun() {
  if (!isChoosing.value) return null;
  return (
    <Dialog
      title="Show that it is you who approves"
      onClose={closeSetDialog}
      class="dialog-proof"
    >
      <p class="proof-lead">
        Every program of your user can read gate’s files, an agent’s commands too. Your passphrase
        or passkey is in no file. gate asks for it before it executes what an agent wants.
      </p>
      <p class="proof-lead">
        <strong>Until you set one, nothing can be approved.</strong>{" "}
        You can still look at everything and reject.
      </p>
      <SetForm onDone={closeSetDialog} leave="Not now" onLeave={closeSetDialog} />
    </Dialog>
  );
}

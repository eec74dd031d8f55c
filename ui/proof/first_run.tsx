import { Dialog } from "../parts/dialog.tsx";
import { closeSetDialog, isChoosing, isInvited } from "./choosing.ts";
import { SetForm } from "./set_form.tsx";

/** Asks for a passphrase or a passkey while none is set; a person may skip it. */
export function FirstRun() {
  if (!isChoosing.value) return null;
  const isOwn = isInvited.value;
  return (
    <Dialog
      title={isOwn ? "Set a key of your own" : "Show that it is you who approves"}
      onClose={closeSetDialog}
      class="dialog-proof"
    >
      {isOwn
        ? (
          <p class="proof-lead">
            Your approvals count only with a passphrase or passkey of your own. An admin invited you
            to set it. Nobody else can approve for you then, the admin neither.
          </p>
        )
        : <Why />}
      <SetForm onDone={closeSetDialog} leave="Not now" onLeave={closeSetDialog} />
    </Dialog>
  );
}

function Why() {
  return (
    <>
      <p class="proof-lead">
        Every program of your user can read gate’s files, an agent’s commands too. Your passphrase
        or passkey is in no file. gate asks for it before it executes what an agent wants.
      </p>
      <p class="proof-lead">
        <strong>Until you set one, nothing can be approved.</strong>{" "}
        You can still look at everything and reject.
      </p>
    </>
  );
}

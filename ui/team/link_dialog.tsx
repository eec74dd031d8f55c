import { useSignal } from "@preact/signals";
import type { Member } from "../../server/team/schema.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Text } from "../parts/text.tsx";

interface LinkDialogProps {
  member: Member;
  url: string;
  onClose: () => void;
}

/** Shows a login link once. It is a credential, so nothing else keeps it. */
export function LinkDialog({ member: { name, role }, url, onClose }: LinkDialogProps) {
  const isCopied = useSignal(false);
  const copy = async () => {
    // Without the right to write the clipboard, a person copies the shown text.
    isCopied.value = await navigator.clipboard.writeText(url).then(() => true, () => false);
  };
  return (
    <Dialog title={`Login link for ${name}`} onClose={onClose} class="dialog-proof">
      <div class="proof-form">
        <p>
          <Text value={name} />{" "}
          opens this link in a browser of their own on this machine, within a minute. It works once.
          {" "}
          {role !== "viewer" && "There they set a passphrase or passkey that only they know."}
        </p>
        <p class="code-text team-url" tabIndex={0} aria-label="The link">{url}</p>
        <div class="proof-buttons">
          <Button kind="primary" onClick={() => void copy()}>
            {isCopied.value ? "Copied" : "Copy the link"}
          </Button>
          <Button kind="quiet" keys="escape" onClick={onClose}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}

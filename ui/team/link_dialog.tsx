import type { Member } from "../../server/team/schema.ts";
import { Button } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Text } from "../parts/text.tsx";

interface LinkDialogProps {
  member: Member;
  url: string;
  onClose: () => void;
}

/** Shows a login link once. It is a credential, so nothing else keeps it. */
export function LinkDialog({ member: { name, role }, url, onClose }: LinkDialogProps) {
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
          <CopyButton kind="primary" value={url}>Copy the link</CopyButton>
          <Button kind="quiet" keys="escape" onClick={onClose}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}

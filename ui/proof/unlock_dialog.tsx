import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { derivePassphraseKey } from "../../server/proof/passphrase.ts";
import { signerOf } from "./signer.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { loadAllCode } from "../state/code.ts";
import { type Asking, asking, keepUnlocked, proof } from "../state/proof.ts";
import { PassphraseField, Progress, Trouble } from "./fields.tsx";
import { signWithPasskey, whyNoPasskey } from "./passkey.ts";
import { deedOf } from "./words.ts";

/** Asks the person for the passphrase or the passkey, while a decision needs it. */
export function UnlockDialog() {
  const now = asking.value;
  if (now === null) return null;
  return now.key.kind === "passkey"
    ? <PasskeyDialog key={now.challenges[0]?.nonce} asked={now} />
    : <PassphraseDialog asked={now} />;
}

function PassphraseDialog({ asked }: { asked: Asking }) {
  const field = useRef<HTMLInputElement>(null);
  const typed = useSignal("");
  const part = useSignal<number | null>(null);
  const trouble = useSignal<string | null>(null);
  const open = async () => {
    if (part.peek() !== null || typed.peek() === "") return;
    part.value = 0;
    trouble.value = null;
    try {
      if (await openKey(asked, typed.peek(), (done) => part.value = done)) return;
      trouble.value = "This is not your passphrase. Nothing was decided; try again.";
    } catch (error) {
      trouble.value = error instanceof Error ? error.message : String(error);
    }
    part.value = null;
    field.current?.select();
  };
  const { challenges } = asked;
  return (
    <Dialog
      title={challenges.length > 0 ? `Unlock to ${deedOf(challenges)}` : "Unlock this page"}
      onClose={asked.cancel}
      class="dialog-proof"
    >
      <form
        class="proof-form"
        onSubmit={(event) => {
          event.preventDefault();
          void open();
        }}
      >
        <p class="quiet">
          Your passphrase makes the key that signs your decisions. It stays in this page and is
          never sent. {lifeOf(proof.value?.unlock_seconds ?? null)}
        </p>
        <PassphraseField
          field={field}
          label="Passphrase"
          value={typed}
          complete="current-password"
          isBusy={part.value !== null}
        />
        <Trouble text={trouble.value} />
        <Progress part={part.value} label="Checking the passphrase" />
        <div class="proof-buttons">
          <button
            type="submit"
            class="button button-primary"
            aria-disabled={part.value !== null ? "true" : undefined}
          >
            <Icon name="unlock" />
            <span>Unlock</span>
          </button>
          <Button kind="quiet" keys="escape" onClick={asked.cancel}>Back</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Derives the key of a passphrase; false for a wrong one. @throws Error */
async function openKey(
  { key, answer }: Asking,
  typed: string,
  onProgress: (part: number) => void,
): Promise<boolean> {
  await loadAllCode();
  const { salt, scrypt, key_id, public_key } = key;
  const derived = await derivePassphraseKey(typed, { salt: salt!, scrypt: scrypt!, onProgress });
  if (derived.public_key !== public_key) return false;
  if (asking.peek()?.key !== key) return true;
  keepUnlocked(signerOf(key_id, derived));
  answer(null);
  return true;
}

function lifeOf(seconds: number | null): string {
  if (seconds === null) return "The page stays unlocked until you lock, reload or close it.";
  const minutes = Math.round(seconds / 60);
  const time = seconds < 120 ? `${seconds} seconds` : `${minutes} minutes`;
  return `The page stays unlocked for ${time}, or until you lock, reload or close it.`;
}

function PasskeyDialog({ asked }: { asked: Asking }) {
  const { key, challenges, answer, cancel } = asked;
  const trouble = useSignal(whyNoPasskey());
  const busy = useSignal(false);
  const sign = async () => {
    if (busy.peek() || challenges.length === 0) return;
    busy.value = true;
    trouble.value = null;
    try {
      const given = await signWithPasskey(key, challenges);
      if (asking.peek() === asked) answer(given);
    } catch (error) {
      trouble.value = error instanceof Error ? error.message : String(error);
    }
    busy.value = false;
  };
  useEffect(() => {
    if (trouble.peek() === null) void sign();
  }, []);
  return (
    <Dialog
      title={`Use your passkey to ${deedOf(challenges)}`}
      onClose={cancel}
      class="dialog-proof"
    >
      <div class="proof-form">
        <p class="quiet">
          Your browser asks for your passkey. The passkey signs exactly{" "}
          {challenges.length > 1 ? `these ${challenges.length} decisions` : "this decision"}.
        </p>
        <p class="quiet small">
          <Text value={digestsOf(challenges)} />
        </p>
        <Trouble text={trouble.value} />
        <div class="proof-buttons">
          <Button kind="primary" icon="key" busy={busy.value} onClick={() => void sign()}>
            {busy.value ? "Waiting for your passkey" : "Use your passkey"}
          </Button>
          <Button kind="quiet" keys="escape" onClick={cancel}>Back</Button>
        </div>
      </div>
    </Dialog>
  );
}

const MOST_DIGESTS = 5;

/** The beginnings of the digests that are signed. */
function digestsOf(challenges: Asking["challenges"]): string {
  const shown = challenges.slice(0, MOST_DIGESTS).map(({ digest }) => `${digest.slice(0, 12)}…`);
  const rest = challenges.length - shown.length;
  return `digest ${shown.join(" ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

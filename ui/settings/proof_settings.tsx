import { useSignal } from "@preact/signals";
import type { EnrolledKey, ProofStatus } from "../../server/proof/schema.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { removeProof, setToken } from "../proof/enrol.ts";
import { turnLock } from "../proof/lock_button.tsx";
import { SetForm } from "../proof/set_form.tsx";
import { KIND_NAMES } from "../proof/words.ts";
import { explain } from "../state/client.ts";
import { invitation } from "../state/invitation.ts";
import { enrolled, unlocked } from "../state/proof.ts";

type Step = "idle" | "set" | "remove" | "token";

/** The proof of a decision: its kind, its keys, and how to change or remove it. */
export function ProofSettings({ status }: { status: ProofStatus }) {
  const step = useSignal<Step>("idle");
  const own = enrolled.value;
  const hasKey = own !== null;
  const isHome = own === null ? status.kind === "none" || status.kind === "token" : !own.role;
  // A further member needs the login link for a first key.
  const canSet = hasKey || isHome || invitation.value !== null;
  const back = () => step.value = "idle";
  return (
    <section class="settings" aria-labelledby="settings-proof">
      <h2 id="settings-proof">Proof</h2>
      <p class="quiet">
        gate asks for this proof before it executes what an agent wants, rolls back, or takes over
        looser rules. Rejecting needs none.
      </p>
      <dl class="settings-facts">
        <dt>Kind</dt>
        <dd>{KIND_NAMES[status.kind]}</dd>
        {own?.kind === "passphrase" && <LockFact />}
      </dl>
      {!canSet && (
        <p class="notice tone-warn">
          <Icon name="alert" />
          <span>
            You have no key of your own, so you cannot approve. Ask an admin for a new login link.
          </span>
        </p>
      )}
      {status.enrolled.map((key) => <EnrolledFacts key={key.key_id} enrolled={key} />)}
      {step.value === "idle" && canSet && (
        <div class="proof-buttons">
          <Button
            kind={hasKey ? "plain" : "primary"}
            icon="key"
            onClick={() => step.value = "set"}
          >
            {hasKey ? "Replace the key" : "Set a passphrase or a passkey"}
          </Button>
          {hasKey && (
            <Button kind="danger" icon="trash" onClick={() => step.value = "remove"}>
              Remove the key
            </Button>
          )}
          {status.kind !== "token" && isHome && (
            <Button
              kind="quiet"
              onClick={() => step.value = "token"}
            >
              Approve without a proof
            </Button>
          )}
        </div>
      )}
      {step.value === "set" && (
        <>
          <h3>{hasKey ? "The new key" : "Your key"}</h3>
          {hasKey && invitation.value === null && (
            <p class="quiet">Your present key must permit it first.</p>
          )}
          <SetForm onDone={back} leave="Back" onLeave={back} />
        </>
      )}
      {step.value === "remove" && (
        <Confirm
          text={isHome
            ? "Nothing can be approved until a new passphrase or passkey is set. Your present key must permit it."
            : "You cannot approve until an admin sends you a new login link. Your present key must permit it."}
          verb="Remove the key"
          work={removeProof}
          done={isHome
            ? "The key is removed. Nothing can be approved now"
            : "Your key is removed. You cannot approve now"}
          onBack={back}
        />
      )}
      {step.value === "token" && (
        <Confirm
          text="Any program of this user can then approve in your place, an agent’s commands too. The records cannot tell it from you."
          verb="Approve without a proof"
          work={setToken}
          done="Any program of this user can approve now"
          onBack={back}
        />
      )}
    </section>
  );
}

function LockFact() {
  const isOpen = unlocked.value !== null;
  return (
    <>
      <dt>This page</dt>
      <dd>
        {isOpen ? "Unlocked" : "Locked"}{" "}
        <button type="button" class="link" onClick={turnLock}>{isOpen ? "Lock" : "Unlock"}</button>
      </dd>
    </>
  );
}

function EnrolledFacts({ enrolled }: { enrolled: EnrolledKey }) {
  const rights = enrolled.role === undefined
    ? "Everything"
    : enrolled.role === "admin"
    ? "As an admin: everything but this home’s own key"
    : "As a reviewer: approve, roll back, lift blocks";
  return (
    <dl class="settings-facts">
      <dt>Key</dt>
      <dd class="code-text">
        <Text value={enrolled.key_id} />
      </dd>
      <dt>Person</dt>
      <dd>
        <Text value={enrolled.member_id} />
      </dd>
      <dt>Permits</dt>
      <dd>{rights}</dd>
      <dt>Set</dt>
      <dd>
        <Ago at={enrolled.created_at} said />
      </dd>
    </dl>
  );
}

interface ConfirmProps {
  text: string;
  verb: string;
  work: () => Promise<void>;
  done: string;
  onBack: () => void;
}

function Confirm({ text, verb, work, done, onBack }: ConfirmProps) {
  const busy = useSignal(false);
  const run = async () => {
    if (busy.peek()) return;
    busy.value = true;
    try {
      await work();
      announce({ text: done, tone: "ok" }, null);
      onBack();
    } catch (error) {
      announce({ text: explain(error), tone: "danger" }, null);
    }
    busy.value = false;
  };
  return (
    <div class="proof-form" role="group" aria-label={verb}>
      <p class="notice tone-warn">
        <Icon name="alert" />
        <span>{text}</span>
      </p>
      <div class="proof-buttons">
        <Button kind="danger" busy={busy.value} onClick={() => void run()}>{verb}</Button>
        <Button kind="quiet" onClick={onBack}>Back</Button>
      </div>
    </div>
  );
}

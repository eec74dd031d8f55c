import type { ProofStatus } from "../../server/proof/schema.ts";
import { Key } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { speak } from "../parts/toast.tsx";
import { useAddress } from "../state/address.ts";
import { key } from "../state/auth.ts";
import { invitation } from "../state/invitation.ts";
import { enrolled, isWithoutKey, lock, proof, unlock, unlocked } from "../state/proof.ts";
import { openSetDialog } from "./choosing.ts";

/** Locks or unlocks the page; does nothing where no passphrase is set, or without a daemon. */
export function turnLock(): void {
  if (enrolled.peek()?.kind !== "passphrase" || key.peek() === null) return;
  if (unlocked.peek() === null) return void unlock();
  lock();
  speak("The page is locked");
}

/** Shows whether this page can sign decisions, and locks or unlocks it. */
export function LockButton() {
  const address = useAddress();
  const home = proof.value?.kind;
  if (home === undefined || key.value === null) return null;
  const kind = isWithoutKey.value
    ? (invitation.value === null ? "missing" : "none")
    : ownKind(home);
  if (kind === "passphrase") {
    const isOpen = unlocked.value !== null;
    return (
      <button
        type="button"
        class={`tool-button lock-button ${isOpen ? "lock-open" : ""}`}
        aria-keyshortcuts="t l"
        title={isOpen
          ? "This page can approve. Lock it when you leave."
          : "Approving asks for your passphrase."}
        onClick={turnLock}
      >
        <Icon name={isOpen ? "unlock" : "lock"} />
        <span class="ellipsis">{isOpen ? "Unlocked: lock" : "Locked: unlock"}</span>
        <Key keys="t l" />
      </button>
    );
  }
  if (kind === "none") {
    return (
      <button type="button" class="tool-button lock-button" onClick={openSetDialog}>
        <Icon name="key" />
        <span class="ellipsis">Set a passphrase</span>
      </button>
    );
  }
  const [icon, name]: [IconName, string] = kind === "passkey"
    ? ["key", "Passkey: asked each time"]
    : ["alert", kind === "missing" ? "You have no key" : "No passphrase"];
  return (
    <a class="tool-button lock-button" href={address.href("/settings")}>
      <Icon name={icon} />
      <span class="ellipsis">{name}</span>
    </a>
  );
}

/** A member's key may be of another kind than the home's. */
function ownKind(home: ProofStatus["kind"]): ProofStatus["kind"] {
  return home === "passphrase" || home === "passkey" ? enrolled.value?.kind ?? home : home;
}

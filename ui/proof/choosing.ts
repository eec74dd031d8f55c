import { computed, signal } from "@preact/signals";
import { invitation } from "../state/invitation.ts";
import { isWithoutKey, proof } from "../state/proof.ts";

const NAME = "gate.proof.later";

/** Whether the person put off choosing a proof, in this tab. */
const isLater = signal(readLater());

/** Whether the person opened the dialog again. */
const isOpened = signal(false);

/** Whether the person can set a key now: the first of the home, or their own with a login link. */
export const isInvited = computed(() => invitation.value !== null && isWithoutKey.value);

/** Whether the page asks for a passphrase or a passkey: at first, and when the person wants it. */
export const isChoosing = computed(() =>
  isOpened.value ||
  ((proof.value?.kind === "none" || isInvited.value) && !proof.value?.open &&
    proof.value?.problem === null && !isLater.value)
);

/** Opens the dialog that sets a passphrase or a passkey. */
export function openSetDialog(): void {
  isOpened.value = true;
}

/** Closes the dialog; while no proof is set, this tab does not ask again by itself. */
export function closeSetDialog(): void {
  isOpened.value = false;
  if (proof.peek()?.kind !== "none" && !isInvited.peek()) return;
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

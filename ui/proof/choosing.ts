import { computed, signal } from "@preact/signals";
import { proof } from "../state/proof.ts";

const NAME = "gate.proof.later";

/** Whether the person put off choosing a proof, in this tab. */
const isLater = signal(readLater());

/** Whether the person opened the dialog again. */
const isOpened = signal(false);

/** Whether the page asks for a passphrase or a passkey: at first, and when the person wants it. */
export const isChoosing = computed(() =>
  isOpened.value ||
  (proof.value?.kind === "none" && !proof.value.open && proof.value.problem === null &&
    !isLater.value)
);

/** Opens the dialog that sets a passphrase or a passkey. */
export function openSetDialog(): void {
  isOpened.value = true;
}

/** Closes the dialog; while no proof is set, this tab does not ask again by itself. */
export function closeSetDialog(): void {
  isOpened.value = false;
  if (proof.peek()?.kind !== "none") return;
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

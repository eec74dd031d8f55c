import { signal } from "@preact/signals";

const NAME = "gate.invitation";

/** The seed of the login link's own key, with which a member sets a key of theirs; null without one. */
export const invitation = signal(read());

/** Keeps the seed in this tab until the member has set a key; null forgets it. */
export function keepInvitation(seed: string | null): void {
  invitation.value = seed;
  try {
    if (seed === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, seed);
  } catch {
    // Without storage, a reload forgets it.
  }
}

function read(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null;
  }
}

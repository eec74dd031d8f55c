import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { provenKey } from "../state/auth.ts";
import { afterFirstCard, loadStyles } from "../state/code.ts";
import { connection } from "../state/events.ts";

const parts = signal<Awaited<ReturnType<typeof load>> | null>(null);

/**
 * The dialogs of the proof. Their code loads separately, after the first card and the daemon's proof,
 * and long before the page is unlocked.
 */
export function ProofDialogs() {
  const state = connection.value;
  useEffect(() => {
    if (parts.peek() !== null) return;
    void afterFirstCard().then(provenKey).then(load).then(
      (loaded) => parts.value = loaded,
      // Tried again when the connection changes.
      () => {},
    );
  }, [state]);
  const loaded = parts.value;
  if (loaded === null) return null;
  return (
    <>
      <loaded.FirstRun />
      <loaded.UnlockDialog />
    </>
  );
}

async function load() {
  const [{ FirstRun }, { UnlockDialog }] = await Promise.all([
    import("./first_run.tsx"),
    import("./unlock_dialog.tsx"),
    // Each approval needs them; an unlocked page loads no code.
    import("../../server/proof/check_challenge.ts"),
    import("../../server/actions/show/check_shown.ts"),
    import("../approvals/accept_config.ts"),
    loadStyles(),
  ]);
  return { FirstRun, UnlockDialog };
}

import { Icon } from "../parts/icon.tsx";
import { useLazy, Waiting } from "../parts/placeholder.tsx";
import { key } from "../state/auth.ts";
import { connection } from "../state/events.ts";
import { RefusedBanner } from "./refused.tsx";

/** Warnings above every page: a lost connection, who can approve, changed ledgers and configs. */
export function Banners() {
  return (
    <>
      <Offline />
      <Later />
    </>
  );
}

// The banners about the proof, the records and the configs load after the first page.
function Later() {
  const { value, failed } = useLazy(loadLater, "card");
  if (value === null) return failed ? <Waiting failed /> : null;
  return (
    <>
      <value.ProofNotices />
      <value.Ledgers />
      <value.ConfigBanners />
    </>
  );
}

async function loadLater() {
  const parts = await Promise.all([
    import("../proof/notices.tsx"),
    import("./ledgers.tsx"),
    import("./config_banners.tsx"),
  ]);
  const [{ ProofNotices }, { Ledgers }, { ConfigBanners }] = parts;
  return { ProofNotices, Ledgers, ConfigBanners };
}

// Without the daemon, the page is not updated and nothing can be decided.
function Offline() {
  // A page without a key that is still shown has met another daemon, or another program.
  const isRefused = key.value === null;
  const isOffline = !isRefused && connection.value === "offline";
  return (
    <div
      class="banners"
      role="region"
      aria-label="Connection"
      aria-live="polite"
      hidden={!isRefused && !isOffline}
    >
      {isRefused && <RefusedBanner />}
      {isOffline && (
        <div class="banner tone-danger">
          <Icon name="alert" />
          <div class="banner-text">
            <p>
              <strong>The daemon does not answer. This page may be out of date.</strong>
            </p>
            <p class="quiet">
              No action can be decided until the daemon answers. The page reconnects by itself. To
              start the daemon: <code>gate daemon start</code>
            </p>
          </div>
        </div>
      )}
    </div>
  );
}

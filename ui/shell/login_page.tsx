import { Icon } from "../parts/icon.tsx";
import { refusal } from "../state/auth.ts";

/** Explains how to get a key, and why the page deleted the one it had. */
export function LoginPage() {
  if (refusal.value !== null) return <Refused isUnknown={refusal.value === "unknown"} />;
  return (
    <main class="login">
      <div class="login-box">
        <Icon name="shield" class="login-icon" />
        <h1>This page needs a key</h1>
        <p>
          Only a person at this machine may approve actions. Run this in a terminal:
        </p>
        <p>
          <code class="login-command">gate dashboard</code>
        </p>
        <p class="quiet">
          It opens this page with a key that lasts 12 hours. <code>gate dashboard --no-open</code>
          {" "}
          prints the link instead. To decide without a browser: <code>gate pending</code>,{" "}
          <code>gate approve</code>, <code>gate reject</code>.
        </p>
      </div>
    </main>
  );
}

function Refused({ isUnknown }: { isUnknown: boolean }) {
  return (
    <main class="login">
      <div class="login-box" role="alert">
        <Icon name="octagon" class="login-icon tone-danger" />
        <h1>
          {isUnknown
            ? "The daemon was restarted, or another program answers on this port"
            : "Another program answers on this port"}
        </h1>
        <p>
          The program on port {location.port}{" "}
          could not prove that it is the daemon that this page was opened by. The page sent it no
          key and nothing else, and deleted its key.
        </p>
        <p>
          Close this page. Do not type a passphrase here. Open a new page from a terminal, which
          asks your own daemon:
        </p>
        <p>
          <code class="login-command">gate dashboard</code>
        </p>
        <p class="quiet">
          If that fails, <code>gate doctor</code> names what is wrong with the port.
        </p>
      </div>
    </main>
  );
}

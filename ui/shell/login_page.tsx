import { Icon } from "../parts/icon.tsx";

/** Explains how to get a key; shown while the browser has none. */
export function LoginPage() {
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

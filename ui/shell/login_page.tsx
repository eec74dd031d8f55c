import { Icon } from "../parts/icon.tsx";
import { refusal } from "../state/auth.ts";
import { Refused } from "./refused.tsx";

/** Explains how to get a key, and why the page deleted the one it had. */
export function LoginPage() {
  const isRefused = refusal.value !== null;
  return (
    <main class="login">
      <div class="login-box" role={isRefused ? "alert" : undefined}>
        {isRefused ? <Refused /> : <Welcome />}
      </div>
    </main>
  );
}

function Welcome() {
  return (
    <>
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
    </>
  );
}

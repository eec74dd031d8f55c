import { Icon } from "../parts/icon.tsx";
import { refusal } from "../state/auth.ts";

/** Explains why the page deleted its key, and how to get another one. */
export function Refused() {
  return (
    <>
      <Icon name="octagon" class="login-icon tone-danger" />
      <h1>{titleOfRefusal()}</h1>
      <Reason />
      <p>Close this page. Open a new one from a terminal, which asks your own daemon:</p>
      <p>
        <code class="login-command">gate dashboard</code>
      </p>
      <p class="quiet">
        If that fails, <code>gate doctor</code> names what is wrong with the port.
      </p>
    </>
  );
}

/** Says the same above a page that still shows what it had read. */
export function RefusedBanner() {
  return (
    <div class="banner tone-danger" role="alert">
      <Icon name="octagon" />
      <div class="banner-text">
        <h2>{titleOfRefusal()}</h2>
        <Reason />
        <p>
          Run <code>gate dashboard</code>{" "}
          in a terminal: it opens a new page, and this one goes on with what you typed. Until then
          this page may be out of date, and nothing can be decided.
        </p>
      </div>
    </div>
  );
}

function titleOfRefusal(): string {
  return refusal.value === "unknown"
    ? "The daemon was restarted, or another program answers on this port"
    : "Another program answers on this port";
}

function Reason() {
  return (
    <p>
      The program on port {location.port}{" "}
      could not prove that it is the daemon that this page was opened by. The page sent it no key
      and nothing else, and deleted its key. Do not type a passphrase here.
    </p>
  );
}

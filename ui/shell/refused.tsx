import { Icon } from "../parts/icon.tsx";
import { refusal } from "../state/auth.ts";

/** Explains on the login page why the page deleted its key, and how to get another one. */
export function Refused() {
  return (
    <>
      <Icon name="octagon" class="login-icon tone-danger" />
      <h1>{titleOfRefusal()}</h1>
      <Reason />
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
          Then this page goes on with what you typed. Until then it may be out of date, and nothing
          can be decided.
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
    <>
      <p>
        The program on port {location.port}{" "}
        could not prove that it is the daemon that opened this page. The page deleted its key. Do
        not type a passphrase here.
      </p>
      <p>
        Run <code>gate dashboard</code>{" "}
        in a terminal: it opens a new page of your own daemon. If it fails, run{" "}
        <code>gate doctor</code>.
      </p>
    </>
  );
}

import { signal } from "@preact/signals";
import { render } from "preact";
import { LocationProvider, Route, Router } from "preact-iso/router";
import { useEffect } from "preact/hooks";
import { ActionPage } from "./actions/action_page.tsx";
import { ActionsPage } from "./actions/actions_page.tsx";
import { ApprovalsPage } from "./approvals/approvals_page.tsx";
import { Empty } from "./parts/placeholder.tsx";
import { Toasts } from "./parts/toast.tsx";
import { FirstRun } from "./proof/first_run.tsx";
import { openKnown } from "./proof/known.ts";
import { turnLock } from "./proof/lock_button.tsx";
import { UnlockDialog } from "./proof/unlock_dialog.tsx";
import { SessionPage } from "./sessions/session_page.tsx";
import { SessionsPage } from "./sessions/sessions_page.tsx";
import { SettingsPage } from "./settings/settings_page.tsx";
import { Banners } from "./shell/banners.tsx";
import { Help } from "./shell/help.tsx";
import { LoginPage } from "./shell/login_page.tsx";
import { Palette } from "./shell/palette.tsx";
import { Sidebar } from "./shell/sidebar.tsx";
import { useAddress } from "./state/address.ts";
import { key, openKey } from "./state/auth.ts";
import { bind, openKeys, useKeys } from "./state/keys.ts";
import { openState, pending } from "./state/live.ts";
import { openTheme, turnTheme } from "./state/theme.ts";

const dialog = signal<"help" | "palette" | null>(null);

function App() {
  if (key.value === null) return <LoginPage />;
  return (
    <LocationProvider>
      <Frame />
    </LocationProvider>
  );
}

function Frame() {
  const address = useAddress();
  useEffect(openState, []);
  useEffect(openKnown, []);
  useEffect(() => {
    document.title = titleOf(address.path);
  });
  useKeys([
    ...bind(
      "Show",
      ["?", "Show keyboard shortcuts", () => dialog.value = "help"],
      ["mod+k", "Find a command", () => dialog.value = "palette"],
      ["t t", "Switch between light, dark and system theme", turnTheme],
      ["t l", "Lock or unlock this page", turnLock],
    ),
    ...bind(
      "Go to",
      ["g a", "Approvals", () => address.go("/approvals")],
      ["g h", "Actions", () => address.go("/actions")],
      ["g s", "Sessions", () => address.go("/sessions")],
      ["g e", "Settings", () => address.go("/settings")],
    ),
  ]);
  const close = () => dialog.value = null;
  return (
    <div class="frame">
      <a class="skip" href="#main">Skip to the page</a>
      <Sidebar
        onHelp={() => dialog.value = "help"}
        onPalette={() => dialog.value = "palette"}
      />
      <div class="page" id="main" tabIndex={-1}>
        <Banners />
        <div class="page-body">
          <Routes />
        </div>
      </div>
      <Toasts />
      <FirstRun />
      <UnlockDialog />
      {dialog.value === "help" && <Help onClose={close} />}
      {dialog.value === "palette" && <Palette onClose={close} />}
    </div>
  );
}

function Routes() {
  return (
    <Router>
      <Route path="/approvals" component={ApprovalsPage} />
      <Route path="/actions" component={ActionsPage} />
      <Route path="/actions/*" component={ActionPage} />
      <Route path="/sessions" component={SessionsPage} />
      <Route path="/sessions/*" component={SessionPage} />
      <Route path="/settings" component={SettingsPage} />
      <Route default component={NotFoundPage} />
    </Router>
  );
}

function NotFoundPage() {
  const address = useAddress();
  return (
    <main class="scroll page-scroll">
      <h1 class="visually-hidden">Not found</h1>
      <Empty icon="help" title="This page does not exist">
        <p>
          <a href={address.href("/approvals")}>Show the approvals</a>
        </p>
      </Empty>
    </main>
  );
}

function titleOf(path: string): string {
  const name = path.split("/")[1] || "approvals";
  const waiting = pending.value?.length ?? 0;
  return `${waiting > 0 ? `(${waiting}) ` : ""}${name[0]!.toUpperCase()}${name.slice(1)} · gate`;
}

if (location.pathname === "/") {
  history.replaceState(null, "", `/approvals${location.search}${location.hash}`);
}
openKey();
openTheme();
openKeys();
render(<App />, document.getElementById("app")!);

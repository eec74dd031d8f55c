import { signal } from "@preact/signals";
import { render } from "preact";
import { LocationProvider, Route, Router } from "preact-iso/router";
import { useEffect } from "preact/hooks";
import { key, openKey } from "./auth.ts";
import { Banners } from "./components/banners.tsx";
import { Help } from "./components/help.tsx";
import { Palette } from "./components/palette.tsx";
import { Sidebar } from "./components/sidebar.tsx";
import { Toasts } from "./components/toast.tsx";
import { bind, openKeys, useKeys } from "./keys.ts";
import { ActionPage } from "./pages/action.tsx";
import { ActionsPage } from "./pages/actions.tsx";
import { ApprovalsPage } from "./pages/approvals.tsx";
import { LoginPage } from "./pages/login.tsx";
import { NotFoundPage } from "./pages/not_found.tsx";
import { SessionPage } from "./pages/session.tsx";
import { SessionsPage } from "./pages/sessions.tsx";
import { useAddress } from "./router.ts";
import { openState, pending } from "./state.ts";
import { openTheme, turnTheme } from "./theme.ts";

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
  useEffect(() => {
    document.title = titleOf(address.path);
  });
  useKeys([
    ...bind(
      "Show",
      ["?", "All keys", () => dialog.value = "help"],
      ["mod+k", "Palette", () => dialog.value = "palette"],
      ["t t", "Light, dark or as the machine", turnTheme],
    ),
    ...bind(
      "Go to",
      ["g a", "Approvals", () => address.go("/approvals")],
      ["g h", "Actions", () => address.go("/actions")],
      ["g s", "Sessions", () => address.go("/sessions")],
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
        <div class="room">
          <Rooms />
        </div>
      </div>
      <Toasts />
      {dialog.value === "help" && <Help onClose={close} />}
      {dialog.value === "palette" && <Palette onClose={close} />}
    </div>
  );
}

function Rooms() {
  return (
    <Router>
      <Route path="/approvals" component={ApprovalsPage} />
      <Route path="/actions" component={ActionsPage} />
      <Route path="/actions/*" component={ActionPage} />
      <Route path="/sessions" component={SessionsPage} />
      <Route path="/sessions/*" component={SessionPage} />
      <Route default component={NotFoundPage} />
    </Router>
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

import { signal } from "@preact/signals";
import { type JSX, render } from "preact";
import { LocationProvider, Route, Router } from "preact-iso/router";
import { useEffect } from "preact/hooks";
import { ApprovalsPage } from "./approvals/approvals_page.tsx";
import { Empty, useLazy, Waiting } from "./parts/placeholder.tsx";
import { Toasts } from "./parts/toast.tsx";
import { openKnown } from "./proof/known.ts";
import { ProofDialogs } from "./proof/loaded.tsx";
import { turnLock } from "./proof/lock_button.tsx";
import { Banners } from "./shell/banners.tsx";
import { LoginPage } from "./shell/login_page.tsx";
import { Sidebar } from "./shell/sidebar.tsx";
import { useAddress } from "./state/address.ts";
import { key, openKey } from "./state/auth.ts";
import { loadStyles, openCode } from "./state/code.ts";
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
      ["g l", "Agents", () => address.go("/agents")],
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
      <ProofDialogs />
      {dialog.value === "help" && <HelpDialog onClose={close} />}
      {dialog.value === "palette" && <PaletteDialog onClose={close} />}
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
      <Route path="/agents" component={AgentsPage} />
      <Route path="/settings" component={SettingsPage} />
      <Route default component={NotFoundPage} />
    </Router>
  );
}

const DIALOGS = {
  help: async () => (await import("./shell/help.tsx")).Help,
  palette: async () => (await import("./shell/palette.tsx")).Palette,
};

// The chunks of the pages; the queue comes with the first page.
const PAGES = {
  Actions: async () => (await import("./actions/actions_page.tsx")).ActionsPage,
  Action: async () => (await import("./actions/action_page.tsx")).ActionPage,
  Sessions: async () => (await import("./sessions/sessions_page.tsx")).SessionsPage,
  Session: async () => (await import("./sessions/session_page.tsx")).SessionPage,
  Agents: async () => (await import("./agents/agents_page.tsx")).AgentsPage,
  Settings: async () => (await import("./settings/settings_page.tsx")).SettingsPage,
};
const CHUNKS = [
  ...Object.values(DIALOGS),
  ...Object.values(PAGES),
  () => import("./card/conflicts.tsx"),
  () => import("./card/in_sandbox.tsx"),
  loadStyles,
  () => import("./approvals/edit_pane.tsx"),
  () => import("./approvals/editor.tsx"),
  () => import("./diff/diff.tsx"),
  () => import("./approvals/remember_dialog.tsx"),
  () => import("./approvals/grants_dialog.tsx"),
  () => import("./card/approvals.tsx"),
];

function lazyPage(name: keyof typeof PAGES): () => JSX.Element {
  return function Page() {
    const { value: Loaded, failed } = useLazy(PAGES[name]);
    return Loaded ? <Loaded /> : <LoadingPage name={name} failed={failed} />;
  };
}

function lazyDialog(name: keyof typeof DIALOGS): (props: { onClose: () => void }) => JSX.Element {
  return function Dialog(props) {
    const { value: Loaded, failed } = useLazy(DIALOGS[name]);
    return Loaded ? <Loaded {...props} /> : <LoadingDialog failed={failed} {...props} />;
  };
}

// The page gets no key that is meant for the dialog.
function LoadingDialog({ failed, onClose }: { failed: boolean; onClose: () => void }) {
  useKeys(bind("Show", ["escape", "Close", onClose]), { modal: true });
  return failed ? <Waiting failed /> : null;
}

const HelpDialog = lazyDialog("help");
const PaletteDialog = lazyDialog("palette");
const ActionsPage = lazyPage("Actions");
const ActionPage = lazyPage("Action");
const SessionsPage = lazyPage("Sessions");
const SessionPage = lazyPage("Session");
const AgentsPage = lazyPage("Agents");
const SettingsPage = lazyPage("Settings");

function LoadingPage({ name, failed }: { name: string; failed: boolean }) {
  return (
    <main class="scroll page-scroll">
      <h1 class="visually-hidden">{name}</h1>
      <Waiting failed={failed} />
    </main>
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
openCode(CHUNKS);
render(<App />, document.getElementById("app")!);

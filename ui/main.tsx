import { effect, signal } from "@preact/signals";
import { type JSX, render } from "preact";
import { LocationProvider, Route, Router } from "preact-iso/router";
import { useEffect } from "preact/hooks";
import { ApprovalsPage } from "./approvals/approvals_page.tsx";
import { Empty, LoadingDialog, useLazy, useTypedAhead, Waiting } from "./parts/placeholder.tsx";
import { Toasts } from "./parts/toast.tsx";
import { openKnown } from "./proof/known.ts";
import { ProofDialogs } from "./proof/loaded.tsx";
import { turnLock } from "./proof/lock_button.tsx";
import { Banners } from "./shell/banners.tsx";
import { LoginPage } from "./shell/login_page.tsx";
import { PAGES } from "./shell/pages.ts";
import { Sidebar } from "./shell/sidebar.tsx";
import { useAddress } from "./state/address.ts";
import { key, openKey, refusal } from "./state/auth.ts";
import { loadStyles, openCode, tellDrawn } from "./state/code.ts";
import { bind, openKeys, useKeys } from "./state/keys.ts";
import { daemon, openState, pending, unread } from "./state/live.ts";
import { openTheme, turnTheme } from "./state/theme.ts";

const dialog = signal<"help" | "palette" | null>(null);

function App() {
  // A page that lost its daemon keeps what it has read and what was typed.
  const isKept = refusal.value !== null && daemon.value !== null;
  if (key.value === null && !isKept) return <LoginPage />;
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
  useEffect(() => effect(() => void (document.title = titleOf(address.path))), [address.path]);
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
      ...PAGES.flatMap(({ pages }) => pages)
        .map(({ key, name, path }) => [`g ${key}`, name, () => address.go(path)] as const),
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
      {LATER.map(({ path, Page }) => <Route key={path} path={path} component={Page} />)}
      <Route default component={NotFoundPage} />
    </Router>
  );
}

const DIALOGS = {
  help: async () => (await import("./shell/help.tsx")).Help,
  palette: async () => (await import("./shell/palette.tsx")).Palette,
};

const later = (path: string, name: string, load: () => Promise<() => JSX.Element>) => ({
  path,
  load,
  Page: lazyPage(name, load),
});

// The pages whose chunks load later; the queue comes with the first page.
const LATER = [
  later(
    "/actions",
    "Actions",
    async () => (await import("./actions/actions_page.tsx")).ActionsPage,
  ),
  later("/actions/*", "Action", async () => (await import("./actions/action_page.tsx")).ActionPage),
  later(
    "/sessions",
    "Sessions",
    async () => (await import("./sessions/sessions_page.tsx")).SessionsPage,
  ),
  later(
    "/sessions/*",
    "Session",
    async () => (await import("./sessions/session_page.tsx")).SessionPage,
  ),
  later("/agents", "Agents", async () => (await import("./agents/agents_page.tsx")).AgentsPage),
  later("/team", "Team", async () => (await import("./team/team_page.tsx")).TeamPage),
  later("/policy", "Policy", async () => (await import("./policy/policy_page.tsx")).PolicyPage),
  later(
    "/remediation",
    "Remediation",
    async () => (await import("./remediation/remediation_page.tsx")).RemediationPage,
  ),
  later(
    "/analytics",
    "Analytics",
    async () => (await import("./analytics/analytics_page.tsx")).AnalyticsPage,
  ),
  later("/audit", "Audit", async () => (await import("./audit/audit_page.tsx")).AuditPage),
  later(
    "/projects",
    "Projects",
    async () => (await import("./projects/projects_page.tsx")).ProjectsPage,
  ),
  later(
    "/settings",
    "Settings",
    async () => (await import("./settings/settings_page.tsx")).SettingsPage,
  ),
];
const CHUNKS = [
  ...Object.values(DIALOGS),
  ...LATER.map(({ load }) => load),
  () => import("./card/conflicts.tsx"),
  () => import("./card/in_sandbox.tsx"),
  () => loadStyles(),
  () => import("./approvals/review_pane.tsx"),
  () => import("./approvals/edit_pane.tsx"),
  () => import("./approvals/edit_steps.tsx"),
  () => import("./approvals/editor.tsx"),
  () => import("./diff/diff.tsx"),
  () => import("./approvals/remember_dialog.tsx"),
  () => import("./approvals/wall_dialog.tsx"),
  () => import("./approvals/grants_dialog.tsx"),
  () => import("./approvals/first_steps.tsx"),
  () => import("./approvals/session_group.tsx"),
  () => import("./card/approvals.tsx"),
  () => import("./card/context.tsx"),
  () => import("./card/held_changes.tsx"),
  () => import("./card/steps.tsx"),
  () => import("./approvals/marked_dialog.tsx"),
  () => import("./approvals/matching_dialog.tsx"),
  () => import("./approvals/roll_back_last.ts"),
  () => import("./approvals/take_part.tsx"),
  () => import("./diff/images.tsx"),
  () => import("./diff/moved.tsx"),
  () => import("./diff/opaque.tsx"),
  () => import("./diff/notes.tsx"),
  () => import("./diff/earlier_comments.tsx"),
  () => import("./settings/notices.ts"),
  () => import("./shell/config_problems.tsx"),
  async () => await (await import("./diff/colours.ts")).loadLanguages(),
];

function lazyPage(name: string, load: () => Promise<() => JSX.Element>): () => JSX.Element {
  return function Page() {
    const { value: Loaded, failed } = useLazy(load);
    return Loaded ? <Loaded /> : <LoadingPage name={name} failed={failed} />;
  };
}

function HelpDialog(props: { onClose: () => void }) {
  const { value: Help, failed } = useLazy(DIALOGS.help);
  return Help ? <Help {...props} /> : <LoadingDialog failed={failed} {...props} />;
}

function PaletteDialog(props: { onClose: () => void }) {
  const { value: Palette, failed } = useLazy(DIALOGS.palette);
  const { text, onLetter } = useTypedAhead();
  if (Palette) return <Palette text={text} {...props} />;
  return <LoadingDialog failed={failed} onLetter={onLetter} {...props} />;
}

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
  const waiting = (pending.value?.length ?? 0) + unread.value;
  return `${waiting > 0 ? `(${waiting}) ` : ""}${name[0]!.toUpperCase()}${name.slice(1)} · gate`;
}

if (location.pathname === "/") {
  history.replaceState(null, "", `/approvals${location.search}${location.hash}`);
}
openKey();
openTheme();
openKeys();
openCode(CHUNKS);
if (location.pathname !== "/approvals") tellDrawn();
if (localStorage.getItem("gate.notices") === "on") {
  void import("./settings/notices.ts").then(({ openNotices }) => openNotices());
}
render(<App />, document.getElementById("app")!);

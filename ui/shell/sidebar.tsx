import { useSignal } from "@preact/signals";
import { Key } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { LockButton } from "../proof/lock_button.tsx";
import { useAddress } from "../state/address.ts";
import { loadStyles } from "../state/code.ts";
import { connection } from "../state/events.ts";
import { daemon } from "../state/live.ts";
import { useHeldCount, useProject } from "../state/project.ts";
import { theme, turnTheme } from "../state/theme.ts";
import { PAGES } from "./pages.ts";
import { ProjectSwitcher } from "./project_switcher.tsx";

interface SidebarProps {
  onHelp: () => void;
  onPalette: () => void;
}

/** The sidebar: project, pages, tools and connection. */
export function Sidebar({ onHelp, onPalette }: SidebarProps) {
  const address = useAddress();
  const project = useProject();
  /** The address at which the sheet of a narrow window is open. A new address closes it. */
  const openAt = useSignal<string | null>(null);
  const isOpen = openAt.value === address.path;
  const waiting = useHeldCount(project);
  return (
    <header class="sidebar" onKeyDown={({ key }) => key === "Escape" && (openAt.value = null)}>
      <ProjectSwitcher />
      <button
        type="button"
        class="nav-more"
        aria-expanded={isOpen}
        onClick={async () => {
          await loadStyles();
          openAt.value = isOpen ? null : address.path;
        }}
      >
        <Icon name={isOpen ? "x" : "list"} />
        {isOpen ? "Close" : "More"}
      </button>
      <div class={isOpen ? "sheet sheet-open" : "sheet"}>
        <nav class="nav" aria-label="Pages">
          {PAGES.map(({ title, pages }) => (
            <div class="nav-group" key={title}>
              <p class="quiet small nav-title" aria-hidden="true">{title}</p>
              {pages.map((page) => (
                <a
                  key={page.path}
                  href={address.href(page.path)}
                  aria-current={address.path.startsWith(page.path) ? "page" : undefined}
                >
                  <Icon name={page.icon} />
                  <span>{page.name}</span>
                  {page.path === "/approvals" && waiting > 0 && (
                    <span class="pending-count" aria-label={`${waiting} held`}>{waiting}</span>
                  )}
                </a>
              ))}
            </div>
          ))}
        </nav>
        <Tools onHelp={onHelp} onPalette={onPalette} />
      </div>
      <LockButton />
      <Problems />
      <Live />
    </header>
  );
}

function Tools({ onHelp, onPalette }: SidebarProps) {
  return (
    <div class="sidebar-tools">
      <button type="button" class="tool-button" onClick={onPalette}>
        <Icon name="search" />
        <span class="ellipsis">Find a command</span>
        <Key keys="mod+k" />
      </button>
      <button type="button" class="tool-button" onClick={onHelp}>
        <Icon name="help" />
        <span class="ellipsis">Keyboard shortcuts</span>
        <Key keys="?" />
      </button>
      <ThemeButton />
    </div>
  );
}

const THEMES = {
  system: { icon: "screen", name: "Theme: system" },
  light: { icon: "sun", name: "Theme: light" },
  dark: { icon: "moon", name: "Theme: dark" },
} as const;

function ThemeButton() {
  const { icon, name } = THEMES[theme.value];
  return (
    <button type="button" class="tool-button" onClick={turnTheme}>
      <Icon name={icon} />
      <span class="ellipsis">{name}</span>
    </button>
  );
}

// Problems that the daemon reports about itself.
function Problems() {
  const problems = daemon.value?.problems ?? [];
  if (problems.length === 0) return null;
  return (
    <details class="small problems">
      <summary>
        <Icon name="alert" />
        {count(problems.length, "problem")}
      </summary>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>
            <Text value={problem} />
          </li>
        ))}
      </ul>
    </details>
  );
}

const STATES = {
  live: { word: "live", note: "The page is up to date." },
  connecting: { word: "connecting…", note: "Loading recent changes." },
  offline: {
    word: "offline",
    note: "The daemon does not answer. The page keeps trying. To start it: gate daemon start",
  },
} as const;

function Live() {
  const state = connection.value;
  const port = daemon.value?.port ?? location.port;
  return (
    <p class={`small live live-${state}`} role="status" title={STATES[state].note}>
      <span class="live-dot" aria-hidden="true" />
      {STATES[state].word}
      <span class="quiet">· port {port}</span>
    </p>
  );
}

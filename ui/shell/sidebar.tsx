import { connection } from "../state/events.ts";
import { useAddress } from "../state/address.ts";
import { daemon, pendingByProject } from "../state/live.ts";
import { theme, turnTheme } from "../state/theme.ts";
import { usePending, useProject } from "../state/project.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { ProjectSwitcher } from "./project_switcher.tsx";
import { count } from "../parts/words.ts";
import { Key } from "../parts/button.tsx";
import { Text } from "../parts/text.tsx";

interface SidebarProps {
  onHelp: () => void;
  onPalette: () => void;
}

const ROOMS: readonly { path: string; name: string; icon: IconName }[] = [
  { path: "/approvals", name: "Approvals", icon: "shield" },
  { path: "/actions", name: "Actions", icon: "list" },
  { path: "/sessions", name: "Sessions", icon: "layers" },
];

/** The sidebar: project, pages, tools and connection. */
export function Sidebar({ onHelp, onPalette }: SidebarProps) {
  const address = useAddress();
  const project = useProject();
  const pending = usePending();
  const waiting = project ? pendingByProject.value.get(project) ?? 0 : pending?.length ?? 0;
  return (
    <header class="sidebar">
      <ProjectSwitcher />
      <nav class="rooms" aria-label="Rooms">
        <p class="rooms-title" aria-hidden="true">Review</p>
        {ROOMS.map((room) => (
          <a
            key={room.path}
            href={address.href(room.path)}
            aria-current={address.path.startsWith(room.path) ? "page" : undefined}
          >
            <Icon name={room.icon} />
            <span>{room.name}</span>
            {room.path === "/approvals" && waiting > 0 && (
              <span class="pending-count" aria-label={`${waiting} waiting`}>{waiting}</span>
            )}
          </a>
        ))}
      </nav>
      <Tools onHelp={onHelp} onPalette={onPalette} />
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
        <span>Go to or do</span>
        <Key keys="mod+k" />
      </button>
      <button type="button" class="tool-button" onClick={onHelp}>
        <Icon name="help" />
        <span>Keys</span>
        <Key keys="?" />
      </button>
      <ThemeButton />
    </div>
  );
}

const THEMES = {
  system: { icon: "screen", name: "Theme: as the machine" },
  light: { icon: "sun", name: "Theme: light" },
  dark: { icon: "moon", name: "Theme: dark" },
} as const;

function ThemeButton() {
  const { icon, name } = THEMES[theme.value];
  return (
    <button type="button" class="tool-button" onClick={turnTheme}>
      <Icon name={icon} />
      <span>{name}</span>
    </button>
  );
}

// Problems that the daemon reports about itself.
function Problems() {
  const problems = daemon.value?.problems ?? [];
  if (problems.length === 0) return null;
  return (
    <details class="problems">
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
  live: { word: "live", note: "What you see is up to date." },
  connecting: { word: "connecting…", note: "Reading what has changed." },
  offline: {
    word: "offline",
    note: "The daemon does not answer; trying again. Is it running? gate daemon start",
  },
} as const;

function Live() {
  const state = connection.value;
  const port = daemon.value?.port ?? location.port;
  return (
    <p class={`live live-${state}`} role="status" title={STATES[state].note}>
      <span class="live-dot" aria-hidden="true" />
      {STATES[state].word}
      <span class="quiet">· port {port}</span>
    </p>
  );
}

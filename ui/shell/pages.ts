import type { IconName } from "../parts/icon.tsx";

/** A page of the sidebar, and the letter after "g" that opens it. */
export interface PageLink {
  path: string;
  name: string;
  icon: IconName;
  key: string;
}

const page = (path: string, name: string, icon: IconName, key: string): PageLink => ({
  path,
  name,
  icon,
  key,
});

/** The pages in the groups of the sidebar. */
export const PAGES: readonly { title: string; pages: readonly PageLink[] }[] = [
  {
    title: "Review",
    pages: [
      page("/approvals", "Approvals", "shield", "a"),
      page("/actions", "Actions", "list", "h"),
      page("/sessions", "Sessions", "layers", "s"),
    ],
  },
  {
    title: "Rules",
    pages: [
      page("/policy", "Policy", "rules", "p"),
      page("/team", "Team", "people", "t"),
      page("/remediation", "Remediation", "ban", "m"),
    ],
  },
  {
    title: "Insight",
    pages: [page("/analytics", "Analytics", "chart", "n"), page("/audit", "Audit", "lock", "u")],
  },
  {
    title: "Machine",
    pages: [
      page("/agents", "Agents", "terminal", "l"),
      page("/projects", "Projects", "folder", "r"),
      page("/settings", "Settings", "settings", "e"),
    ],
  },
];

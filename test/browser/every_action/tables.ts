import { AGENTS } from "./agents.ts";
import { CARDS } from "./cards.ts";
import type { Deed } from "./deed.ts";
import { DETAILS } from "./details.ts";
import { EMPTY, LOST } from "./homes.ts";
import { PASSKEY, TEAM_KEYS } from "./keys.ts";
import { LONG_LISTS } from "./long_lists.ts";
import { PROOF } from "./proof.ts";
import { QUEUE } from "./queue.ts";
import { RECORDS } from "./records.ts";
import { REMEDIATION } from "./remediation.ts";
import { ROOMS } from "./rooms.ts";
import { SANDBOX } from "./sandbox.ts";
import { SETTINGS } from "./settings.ts";

/** Deeds on the queue and its cards. */
export const QUEUE_DEEDS: Deed[] = [...QUEUE, ...DETAILS, ...CARDS];

/** Deeds on every other page. */
export const PAGE_DEEDS: Deed[] = [
  ...RECORDS,
  ...ROOMS,
  ...LONG_LISTS,
  ...AGENTS,
  ...REMEDIATION,
  ...SETTINGS,
];

/** A gate in a state of its own, and the deeds that are possible only there. */
interface State {
  state: string;
  deeds: Deed[];
  projects: string[];
  proof: "none" | "token";
}

export const STATES: State[] = [
  { state: "a passphrase", deeds: PROOF, projects: ["my-app"], proof: "none" },
  { state: "the keys of a team", deeds: TEAM_KEYS, projects: ["my-app"], proof: "none" },
  { state: "a passkey", deeds: PASSKEY, projects: ["my-app"], proof: "none" },
  { state: "no project", deeds: EMPTY, projects: [], proof: "token" },
  { state: "older files of gate", deeds: LOST, projects: ["my-app"], proof: "token" },
];

export const ALL_DEEDS: Deed[] = [
  ...QUEUE_DEEDS,
  ...PAGE_DEEDS,
  ...SANDBOX,
  ...STATES.flatMap(({ deeds }) => deeds),
];

import { computed, signal } from "@preact/signals";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { OpenWall, OpenWalls } from "../../server/sandbox/schema.ts";
import { isOpenIn, withWalls } from "../../server/actions/review/wall_rules.ts";
import type { PolicyReplayPage, ReplayCounts } from "../../server/trials/schema.ts";
import { announce } from "../parts/toast.tsx";
import { api, explain, unwrap } from "../state/client.ts";

export const SPANS = [
  { value: "once", label: "This run" },
  { value: "session", label: "This session" },
  { value: "rule", label: "Every command" },
] as const;
type Span = (typeof SPANS)[number]["value"];

export const KINDS = {
  host: "Reach the host",
  writable: "Write in the folder",
  readable: "Read the file",
} as const;
export type Kind = keyof typeof KINDS;

const HISTORY_MS = 30 * 24 * 60 * 60 * 1000;

/** The effect that a rule would have had on the recorded actions. */
export interface Impact {
  checked: number;
  totals: ReplayCounts;
  complete: boolean;
}

/** The choices of a reviewer who opens walls of the sandbox for a command. */
export class Opening {
  /** The walls to choose from: the offered ones and those that the person has named. */
  readonly walls = signal<readonly OpenWall[]>([]);
  readonly chosen = signal<readonly OpenWall[]>([]);
  readonly span = signal<Span>("once");
  readonly kind = signal<Kind>("host");
  readonly own = signal("");
  readonly impact = signal<Impact | null>(null);
  /** Why the impact cannot be shown. */
  readonly problem = signal<string | null>(null);
  /** A rule is written only after its whole impact has been on the page. */
  readonly isReady = computed(() =>
    this.chosen.value.length > 0 &&
    (this.span.value !== "rule" || this.impact.value?.complete === true)
  );
  readonly #detail: ActionDetail;
  #looking: AbortController | null = null;

  constructor(detail: ActionDetail) {
    this.#detail = detail;
    this.walls.value = detail.walls ?? [];
  }

  turn(wall: OpenWall): void {
    const chosen = this.chosen.value;
    this.chosen.value = chosen.includes(wall)
      ? chosen.filter((one) => one !== wall)
      : [...chosen, wall];
    this.#look();
  }

  choose(span: Span): void {
    this.span.value = span;
    this.#look();
  }

  /** Adds the wall that the person has typed. */
  add(): void {
    const about = this.own.value.trim();
    const kind = this.kind.value;
    if (about === "") return;
    this.own.value = "";
    const wall: OpenWall = kind === "host" ? { kind, host: about } : { kind, path: about };
    const known = this.walls.value.find((one) => JSON.stringify(one) === JSON.stringify(wall));
    if (!known) this.walls.value = [...this.walls.value, wall];
    if (!known || !this.chosen.value.includes(known)) this.turn(known ?? wall);
  }

  /** Ends the look at the history. */
  close(): void {
    this.#looking?.abort();
  }

  /** The walls that the approval opens. A rule opens them for this run too. */
  wanted(): OpenWalls | null {
    if (!this.isReady.value) return null;
    const span = this.span.value;
    return { walls: [...this.chosen.value], for: span === "rule" ? "once" : span };
  }

  /** Writes the rule into the project's config, which asks for a proof. */
  async writeRule(): Promise<void> {
    if (this.span.value !== "rule") return;
    const { config: route } = this.#api();
    const walls = this.chosen.value;
    try {
      const { config, etag } = await unwrap(route.$get());
      const json = withWalls(config.policies?.sandbox, walls)!;
      const { effective } = await unwrap(
        route.policies.$put({ json }, { headers: { "If-Match": etag } }),
      );
      if (walls.every((wall) => isOpenIn(effective.sandbox, wall))) {
        announce({ text: "The rule is written and in force", tone: "ok" }, null);
      } else announce({ text: NARROWED, tone: "danger" }, null);
    } catch (error) {
      announce({ text: `The rule was not written. ${explain(error)}`, tone: "danger" }, null);
    }
  }

  #api() {
    return api(this.#detail.project_id).api;
  }

  #look(): void {
    this.#looking?.abort();
    this.impact.value = null;
    this.problem.value = null;
    if (this.span.value !== "rule" || this.chosen.value.length === 0) return;
    const looking = new AbortController();
    this.#looking = looking;
    void this.#readImpact(looking.signal).catch((error) => {
      if (!looking.signal.aborted) this.problem.value = explain(error);
    });
  }

  async #readImpact(late: AbortSignal): Promise<void> {
    const { config: { $get }, policy } = this.#api();
    const { config } = await unwrap($get());
    const policies = withWalls(config.policies?.sandbox, this.chosen.value);
    if (policies === null) {
      if (!late.aborted) this.problem.value = ONLY_ONCE;
      return;
    }
    const since = new Date(Date.now() - HISTORY_MS).toISOString();
    let cursor: string | null = null;
    const sum: Impact = { checked: 0, totals: { ...NOTHING }, complete: false };
    do {
      const json = { since, policies, ...cursor !== null && { cursor } };
      const page: PolicyReplayPage = await unwrap(policy.replay.$post({ json }));
      if (late.aborted) return;
      cursor = page.next_cursor;
      sum.checked += page.checked;
      for (const name of NAMES) sum.totals[name] += page.totals[name];
      this.impact.value = { ...sum, complete: cursor === null };
    } while (cursor !== null);
  }
}

const NOTHING: ReplayCounts = {
  newly_blocked: 0,
  newly_asked: 0,
  newly_allowed: 0,
  prompts_saved: 0,
  rejected_now_allowed: 0,
};
const NAMES = Object.keys(NOTHING) as (keyof ReplayCounts)[];

const ONLY_ONCE = "No rule shows a hidden file. Open it for this run or for the session.";
const NARROWED =
  "The rule is written. Another config names fewer hosts or folders, so the wall stays closed.";

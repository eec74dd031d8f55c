import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import type { Remember } from "../../server/grants/schema.ts";
import { api, explain, ProblemError, unwrap } from "../state/client.ts";
import { type Loaded, refresh } from "../state/live.ts";
import { turnMark } from "./marks.ts";
import { count, deciderOf } from "../parts/words.ts";
import { statusWord } from "../parts/badges.tsx";
import { toolOf } from "../../server/actions/tools.ts";

/**
 * The step of a review: the buttons, the reason for a rejection, the confirmation, the editor, the
 * check of an edit, or the dialog that creates a grant.
 */
export type Mode = "idle" | "reject" | "confirm" | "edit" | "check" | "remember";

/** Receives reports about the content: its hidden characters, and whether its end was in view. */
export interface Reading {
  shown(hidden: number, unseen?: boolean): void;
  end(seen: boolean): void;
}

/** A warning that a reviewer must confirm before approving. */
export interface Caution {
  kind: "critical" | "base" | "hidden" | "unread" | "unseen";
  what: string;
  why: string;
}

/** A new or changed card accepts no decision for this long. */
export const SETTLE_MS = 700;

/** The review of one card, from its appearance to the decision. */
export class Review {
  readonly mode = signal<Mode>("idle");
  readonly busy = signal(false);
  readonly notice = signal<string | null>(null);
  readonly reason = signal("");
  /** The reviewer's edited version; kept while the card is open. */
  readonly draft = signal<string | null>(null);
  /** The content is on the page. */
  readonly shown = signal(false);
  /** It is known whether the end of the content is in view. */
  readonly measured = signal(false);
  /** Approving requires that the content is on the page. */
  readonly ready = computed(() => this.shown.value && this.measured.value);
  /** The end of the content has been in view. */
  readonly ended = signal(false);
  /** Hidden characters in the plan. */
  readonly hidden = signal(0);
  /** The content to write is too large to show. */
  readonly unseen = signal(false);
  /** True while the card is too new for a decision. */
  readonly settling = signal(true);
  /** True while no decision is accepted: the card is too new, or a request is running. */
  readonly waits = computed(() => this.busy.value || this.settling.value);
  readonly detail: ReadonlySignal<ActionDetail | null>;
  readonly cautions: ReadonlySignal<Caution[]>;
  readonly reading: Reading = {
    shown: (hidden, unseen = false) => {
      this.hidden.value = hidden;
      this.unseen.value = unseen;
      this.shown.value = true;
    },
    end: (seen) => {
      this.measured.value = true;
      if (seen) this.ended.value = true;
    },
  };
  readonly #decided: (action: Action) => void;
  #digest = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(loaded: Signal<Loaded>, decided: (action: Action) => void) {
    this.detail = computed(() => {
      const value = loaded.value;
      return value && "detail" in value ? value.detail : null;
    });
    this.cautions = computed(() => this.detail.value ? this.#cautionsOf(this.detail.value) : []);
    this.#decided = decided;
  }

  /** Starts the review of a version of the card. */
  show(detail: ActionDetail): void {
    clearTimeout(this.#timer);
    this.settling.value = true;
    this.#timer = setTimeout(() => this.settling.value = false, SETTLE_MS);
    const changed = this.#digest !== "" && this.#digest !== detail.digest;
    this.#digest = detail.digest;
    this.mode.value = "idle";
    if (changed) this.#reread();
  }

  /** Approves the shown plan. Warnings require a confirmation first. */
  approve(confirmed = false): void {
    if (!this.#canDecide()) return;
    if (!this.ready.value) {
      this.notice.value = "Still loading what would be done; nothing was approved.";
    } else if (this.cautions.value.length > 0 && !confirmed) {
      this.open("confirm");
    } else {
      this.#approve();
    }
  }

  /** Approves the shown plan and creates a grant. The dialog has already shown the warnings. */
  approveRemembered(remember: Remember): void {
    if (!this.#canDecide()) return;
    if (this.ready.value) this.#approve({ remember });
    else this.notice.value = "Still loading what would be done; nothing was approved.";
  }

  #approve(more: { remember?: Remember } = {}): void {
    const base = this.#base(({ rebased }) => rebased !== null);
    void this.#send((json, id, project) =>
      api(project).api.actions[":id"].approve.$post({
        param: { id },
        json: { ...json, ...base, ...more },
      })
    );
  }

  reject(): void {
    if (!this.#canDecide()) return;
    const reason = this.reason.value.trim();
    void this.#send((json, id, project) =>
      api(project).api.actions[":id"].reject.$post({
        param: { id },
        json: reason ? { ...json, reason } : json,
      })
    );
  }

  approveEdited(): void {
    const detail = this.detail.value;
    const text = this.draft.value;
    if (!detail || text === null || !this.#canDecide()) return;
    const edit = detail.command === null ? { content: text } : { command: text };
    void this.#send((json, id, project) =>
      api(project).api.actions[":id"]["approve-with-edit"].$post({
        param: { id },
        json: { ...json, ...edit, ...this.#base(() => true) },
      })
    );
  }

  /** The hash of the current file, when it differs from the base and `fits` accepts it. */
  #base(
    fits: (base: NonNullable<ActionDetail["base"]>) => boolean,
  ): { base_sha256?: string | null } {
    const base = this.detail.value?.base;
    return base && fits(base) ? { base_sha256: base.now_sha256 } : {};
  }

  /** Marks the card for approval with others; requires a card read to its end without warnings. */
  mark(): void {
    const detail = this.detail.value;
    if (detail?.status !== "pending") return;
    if (this.ready.value && this.cautions.value.length === 0) turnMark(detail);
    else this.notice.value = "Only a card that was read to its end, without a warning, is marked.";
  }

  /** Opens a step of the review. */
  open(mode: Mode): void {
    const detail = this.detail.value;
    if (detail?.status !== "pending") return;
    if (mode === "edit") {
      this.draft.value ??= editableOf(detail);
      if (this.draft.value === null) return;
    }
    this.notice.value = null;
    this.mode.value = mode;
  }

  /** Goes back one step. */
  close(): void {
    this.mode.value = this.mode.value === "check" ? "edit" : "idle";
  }

  #canDecide(): boolean {
    const detail = this.detail.value;
    if (!detail || this.busy.value || detail.status !== "pending") return false;
    if (!this.settling.value) return true;
    this.notice.value = "This card has only just come up. Read it, then press again.";
    return false;
  }

  async #send(
    call: (
      json: { expected_digest: string },
      id: string,
      project: string,
    ) => Parameters<typeof unwrap<Action>>[0],
  ): Promise<void> {
    const detail = this.detail.value!;
    this.busy.value = true;
    this.notice.value = null;
    try {
      const action = await unwrap(
        call({ expected_digest: detail.digest }, detail.id, detail.project_id),
      );
      this.#decided(action);
    } catch (error) {
      await this.#refused(error, detail);
    } finally {
      this.busy.value = false;
    }
  }

  async #refused(error: unknown, shown: ActionDetail): Promise<void> {
    const status = error instanceof ProblemError ? error.problem.status : 0;
    if (status === 409 || status === 412) await refresh(shown.id, shown.project_id);
    const detail = this.detail.value ?? shown;
    if (status === 412) {
      this.notice.value = "It changed while you were reading. This is the new version; " +
        "nothing was approved.";
    } else if (status === 409 && detail.status !== "pending") {
      this.mode.value = "idle";
      this.notice.value = `Your decision was not used: already ${statusWord(detail.status)} by ${
        deciderOf(detail.decided_by)
      }.`;
    } else this.notice.value = explain(error);
  }

  #reread(): void {
    this.shown.value = false;
    this.measured.value = false;
    this.ended.value = false;
    this.hidden.value = 0;
    this.unseen.value = false;
    this.notice.value = "It changed just now. What you see is the new version." +
      (this.draft.value === null ? "" : " Your own version is kept: see Edit.");
  }

  #cautionsOf(detail: ActionDetail): Caution[] {
    const cautions: Caution[] = baseCautions(detail);
    if (detail.risk.level === "critical") {
      const worst = [...detail.risk.factors].sort((a, b) => b.weight - a.weight)[0];
      cautions.push({
        kind: "critical",
        what: `Critical risk, ${detail.risk.score} of 100`,
        why: worst?.why ?? "The sum of its risk factors is critical.",
      });
    }
    if (this.hidden.value > 0) {
      cautions.push({
        kind: "hidden",
        what: count(this.hidden.value, "hidden character"),
        why: "Text can look like something else than what would be done. " +
          "Each one is marked where it stands.",
      });
    }
    if (this.unseen.value) {
      cautions.push({
        kind: "unseen",
        what: "What would be written is not shown",
        why: "It is too large for this page; you would approve it by its size and hash.",
      });
    }
    if (this.ready.value && !this.ended.value) {
      cautions.push({
        kind: "unread",
        what: "You have not seen all of it",
        why: "Part of what would be done is further down.",
      });
    }
    return cautions;
  }
}

function baseCautions({ base, obstacle }: ActionDetail): Caution[] {
  if (obstacle !== null) {
    return [{ kind: "base", what: "An approval would be refused", why: `${obstacle}.` }];
  }
  if (!base) return [];
  const why = base.rebased
    ? "You approve it on top of what stands there now, as the card shows."
    : "It does not fit what stands there now: an approval would be refused.";
  return [{ kind: "base", what: "The file has changed since this was asked", why }];
}

/** The text that a reviewer can edit, or null. */
export function editableOf(detail: ActionDetail): string | null {
  const { edits } = toolOf(detail.tool);
  if (edits === "command") return detail.command;
  return edits && (detail.base?.rebased?.text ?? detail.after?.text ?? null);
}

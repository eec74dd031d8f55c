import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type {
  Action,
  ActionDetail,
  Approved,
  LineComment,
  PermittedPlace,
} from "../../server/actions/schema.ts";
import type { Remember } from "../../server/grants/schema.ts";
import type { OpenWalls } from "../../server/sandbox/schema.ts";
import { decisionWord } from "../parts/badges.tsx";
import { count, deciderOf } from "../parts/words.ts";
import { api, explain, ProblemError, unwrap } from "../state/client.ts";
import { connection } from "../state/events.ts";
import { type Loaded, refresh } from "../state/live.ts";
import { asksEachTime } from "../../server/actions/tools.ts";
import { editableOf } from "../card/card.tsx";
import type { Reading } from "../diff/files.tsx";
import { NEW_MS } from "./guard.ts";
import { turnMark } from "./marks.ts";
import { askAboutMatching } from "./matching.ts";
import { snoozeOf, wake } from "./snoozes.ts";

/**
 * The step of a review: the buttons, the reason for a rejection, the confirmation, the editor, the
 * check of an edit, the choice of a snooze, or the dialog that creates a grant or opens walls of the
 * sandbox.
 */
type Mode = "idle" | "reject" | "confirm" | "edit" | "check" | "snooze" | "remember" | "wall";

/** A warning that a reviewer must confirm before approving. */
export interface Caution {
  kind: "critical" | "base" | "hidden" | "unread" | "unseen";
  title: string;
  why: string;
}

/** The review of one card, from its appearance to the decision. */
export class Review {
  readonly mode = signal<Mode>("idle");
  readonly busy = signal(false);
  readonly notice = signal<string | null>(null);
  readonly reason = signal("");
  /** Comments on lines of the plan, which go with a rejection. */
  readonly notes = signal<readonly LineComment[]>([]);
  /** Comments on earlier versions that a rejection settles. */
  readonly settled = signal<readonly string[]>([]);
  /** The text that the person typed because the risk asks for it. */
  readonly typed = signal("");
  /** The text that an approval of this action needs has been typed, or it needs none. */
  readonly isTyped = computed(() => {
    const wanted = this.detail.value?.confirmation ?? null;
    return wanted === null || this.typed.value.trim() === wanted;
  });
  /** The guarded places that the command may change in this run. */
  readonly permit = signal<readonly PermittedPlace[]>([]);
  /** Of the changes of a command: the files that the person leaves out. */
  readonly left = signal<ReadonlySet<string>>(new Set());
  /** The reviewer's edited version; kept while the card is open. */
  readonly draft = signal<string | null>(null);
  /** The content is on the page. */
  readonly shown = signal(false);
  /** It is known whether the end of the content is in view. */
  readonly measured = signal(false);
  /** Approving requires that the content of this version is on the page. */
  readonly ready = computed(() =>
    this.shown.value && this.measured.value && this.detail.value?.digest === this.#digest.value
  );
  /** The end of the content has been in view. */
  readonly ended = signal(false);
  /** Hidden characters in the plan. */
  readonly hidden = signal(0);
  /** The content to write is too large to show. */
  readonly unseen = signal(false);
  /** True while the card is too new for a decision. */
  readonly isNew = signal(true);
  /** True while no decision is accepted: the card is too new, or a request is running. */
  readonly isLocked = computed(() => this.busy.value || this.isNew.value);
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
    notes: this.notes,
    settled: this.settled,
  };
  readonly #decided: (action: Action, pressed_at: number) => void;
  /** The version that is drawn. */
  readonly #digest = signal("");
  #wait_ms = NEW_MS;
  #isBack = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param decided gets the decided action and when the person pressed */
  constructor(loaded: Signal<Loaded>, decided: (action: Action, pressed_at: number) => void) {
    this.detail = computed(() => {
      const value = loaded.value;
      return value && "detail" in value ? value.detail : null;
    });
    this.cautions = computed(() => this.detail.value ? this.#cautionsOf(this.detail.value) : []);
    this.#decided = decided;
  }

  /** Starts the review of a version of the card, which accepts no decision for `wait_ms`. */
  show(detail: ActionDetail, wait_ms: number): void {
    this.#isBack = false;
    this.wait(wait_ms);
    const changed = this.#digest.value !== "" && this.#digest.value !== detail.digest;
    this.#digest.value = detail.digest;
    this.mode.value = "idle";
    if (changed) this.#startOver();
  }

  /** Accepts no decision for a while, because the person comes back from elsewhere. */
  comeBack(): void {
    this.#isBack = true;
    this.wait(NEW_MS);
  }

  /** Accepts no decision from now on for so long. */
  wait(ms: number): void {
    clearTimeout(this.#timer);
    this.isNew.value = true;
    this.#wait_ms = ms;
    this.#timer = setTimeout(() => this.isNew.value = false, ms);
  }

  /** Approves the shown plan. Warnings require a confirmation first. */
  approve(confirmed = false): void {
    if (this.#isRefused() || !this.#canDecide()) return;
    if (!this.ready.value) {
      this.notice.value = "The plan is still loading. Nothing was approved.";
    } else if ((this.cautions.value.length > 0 && !confirmed) || !this.isTyped.value) {
      this.open("confirm");
    } else {
      this.#approve();
    }
  }

  /** Approves the shown plan and creates a grant. The dialog has already shown the warnings. */
  approveRemembered(remember: Remember): void {
    if (this.#isRefused() || !this.#canDecide()) return;
    if (!this.isTyped.value) this.open("confirm");
    else if (this.ready.value) this.#approve({ remember }, () => this.#askAboutMatching());
    else this.notice.value = "The plan is still loading. Nothing was approved.";
  }

  /**
   * Approves the command in the sandbox with these walls open. The dialog has already shown the
   * warnings. @param later runs after the approval
   */
  approveOpen(open: OpenWalls, later: () => Promise<void>): void {
    if (this.#isRefused() || !this.#canDecide() || !this.isTyped.value) return;
    if (this.ready.value) this.#approve({ open }, later);
    else this.notice.value = "The plan is still loading. Nothing was approved.";
  }

  #approve(
    more: { remember?: Remember; open?: OpenWalls } = {},
    later?: () => Promise<void>,
  ): void {
    if (this.left.value.size > 0) return this.#approvePart();
    const base = this.#base(({ rebased }) => rebased !== null);
    const isPlain = Object.keys(more).length === 0;
    const permit = isPlain && this.permit.value.length > 0
      ? { permit: [...this.permit.value] }
      : {};
    void this.#send(
      (json, id, project) =>
        api(project).api.actions[":id"].approve.$post({
          param: { id },
          json: { ...json, ...base, ...permit, ...more, ...this.#confirm() },
        }),
      later && { later },
    );
  }

  /** A failure leaves the others in the queue, where the person sees them. */
  async #askAboutMatching(): Promise<void> {
    const detail = this.detail.peek();
    if (detail) await askAboutMatching(detail).catch(() => {});
  }

  #approvePart(): void {
    const left = this.left.value;
    const take = (this.detail.value?.files ?? []).map(({ path }) => path)
      .filter((path) => !left.has(path));
    if (take.length === 0) {
      this.notice.value = "No file is left to take over. Reject the action instead.";
      return;
    }
    void this.#send((json, id, project) =>
      api(project).api.actions[":id"]["approve-with-edit"].$post({
        param: { id },
        json: { ...json, take, ...this.#confirm() },
      })
    );
  }

  reject(): void {
    if (!this.#canDecide()) return;
    const reason = this.reason.value.trim();
    const comments = [...this.notes.value];
    const settled = [...this.settled.value];
    void this.#send((json, id, project) =>
      api(project).api.actions[":id"].reject.$post({
        param: { id },
        json: {
          ...json,
          ...reason && { reason },
          ...comments.length > 0 && { comments },
          ...settled.length > 0 && { settled },
        },
      }), { signs: false });
  }

  approveEdited(): void {
    const detail = this.detail.value;
    const text = this.draft.value;
    if (!detail || text === null || !this.#canDecide()) return;
    if (!this.isTyped.value) {
      this.notice.value = `Type ${detail.confirmation} first.`;
      return;
    }
    const edit = detail.command === null ? { content: text } : { command: text };
    void this.#send(
      (json, id, project) =>
        api(project).api.actions[":id"]["approve-with-edit"].$post({
          param: { id },
          json: { ...json, ...edit, ...this.#base(() => true), ...this.#confirm() },
        }),
      { edit: text },
    );
  }

  #confirm(): { confirm?: string } {
    const wanted = this.detail.value?.confirmation ?? null;
    return wanted === null ? {} : { confirm: this.typed.value.trim() };
  }

  /** The hash of the current file, when it differs from the base and `fits` accepts it. */
  #base(
    fits: (base: NonNullable<ActionDetail["base"]>) => boolean,
  ): { base_sha256?: string | null } {
    const base = this.detail.value?.base;
    return base && fits(base) ? { base_sha256: base.now_sha256 } : {};
  }

  /** Lets the command change a guarded place in this run, or no longer. */
  turnPermit(place: PermittedPlace): void {
    const places = this.permit.value;
    this.permit.value = places.includes(place)
      ? places.filter((one) => one !== place)
      : [...places, place];
  }

  /** Leaves the changes of a file out, or takes them over again. */
  turnTaken(path: string): void {
    const left = new Set(this.left.value);
    if (!left.delete(path)) left.add(path);
    this.left.value = left;
  }

  /** Marks the card for approval with others; requires a card read to its end without warnings. */
  mark(): void {
    const detail = this.detail.value;
    if (detail?.status !== "pending") return;
    if (this.permit.value.length > 0) {
      this.notice.value = "A command that may change guarded places is approved alone.";
    } else if (this.left.value.size > 0) {
      this.notice.value = "An action that is taken over in part is approved alone.";
    } else if (
      this.ready.value && this.cautions.value.length === 0 && detail.confirmation === null
    ) {
      void check(detail).then(
        () => turnMark(detail),
        (error) => this.notice.value = explain(error),
      );
    } else {
      this.notice.value = "Read the card to its end first. A card with warnings cannot be marked.";
    }
  }

  /** Opens a step of the review. */
  open(mode: Mode): void {
    const detail = this.detail.value;
    if (detail?.status !== "pending") return;
    // A snoozed card stays in this browser, and a person who edits may go on.
    if (mode !== "snooze" && mode !== "check" && this.#isAway()) return;
    if (mode === "remember" && (isAsIs(detail) || this.#isRefused())) return;
    if (mode === "wall" && (detail.walls === null || this.#isRefused())) return;
    if (mode === "snooze" && snoozeOf(detail)) return wake(detail.id);
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

  /** Whether an approval would certainly be refused; then the notice says why. */
  #isRefused(): boolean {
    const detail = this.detail.value;
    const isRefused = detail !== null && refusalOf(detail) !== null;
    if (isRefused) this.notice.value = NOT_OFFERED;
    return isRefused;
  }

  /** Reads the card again, because the reason for a refusal may be gone. */
  lookAgain(): void {
    const detail = this.detail.value;
    this.notice.value = null;
    if (detail) void refresh(detail.id, detail.project_id);
  }

  /** Whether the daemon does not answer; then the notice says so. */
  #isAway(): boolean {
    const isAway = connection.value === "offline";
    if (isAway) this.notice.value = "The daemon does not answer. Nothing was decided.";
    return isAway;
  }

  #canDecide(): boolean {
    const detail = this.detail.value;
    if (!detail || this.busy.value || detail.status !== "pending") return false;
    if (this.#isAway()) return false;
    if (!this.isNew.value && detail.digest === this.#digest.value) return true;
    // Presses in a row are no answer to a card, however many there are.
    this.wait(this.#wait_ms);
    this.notice.value =
      (this.#isBack ? "You have only just come back." : "This card has only just appeared.") +
      " Read it, then press again.";
    return false;
  }

  async #send(
    call: (
      json: { expected_digest: string },
      id: string,
      project: string,
    ) => Parameters<typeof unwrap<Approved>>[0],
    { signs = true, edit = null, later }: {
      signs?: boolean;
      edit?: string | null;
      later?: () => Promise<void>;
    } = {},
  ): Promise<void> {
    const detail = this.detail.value!;
    const pressed_at = performance.now();
    this.busy.value = true;
    this.notice.value = null;
    try {
      if (signs) await check(detail);
      const action = await unwrap(
        call({ expected_digest: detail.digest }, detail.id, detail.project_id),
      );
      if (action.status === "pending") return await this.#showVote(action);
      this.#decided(action, pressed_at);
      if (signs && action.execution === "succeeded") {
        const { acceptConfig } = await import("./accept_config.ts");
        await acceptConfig(detail, edit);
      }
      await later?.();
    } catch (error) {
      await this.#explainFailure(error, detail);
    } finally {
      this.busy.value = false;
    }
  }

  /** The card stays, because its route asks more people. */
  async #showVote({ id, project_id, approvals }: Approved): Promise<void> {
    this.draft.value = null;
    this.mode.value = "idle";
    await refresh(id, project_id);
    const { have, need } = approvals!;
    this.notice.value = `Your approval is recorded: ${have} of ${need}. Others are asked too.`;
  }

  async #explainFailure(error: unknown, shown: ActionDetail): Promise<void> {
    const status = error instanceof ProblemError ? error.problem.status : 0;
    if (status === 409 || status === 412) await refresh(shown.id, shown.project_id);
    const detail = this.detail.value ?? shown;
    if (status === 412) {
      this.notice.value = "The action changed while you were reading. " +
        "This is the new version. Nothing was approved.";
    } else if (status === 409 && detail.status !== "pending") {
      this.mode.value = "idle";
      this.notice.value = `Your decision was not used: already ${decisionWord(detail)} by ${
        deciderOf(detail)
      }.`;
    } else this.notice.value = explain(error);
  }

  #startOver(): void {
    this.shown.value = false;
    this.measured.value = false;
    this.ended.value = false;
    this.hidden.value = 0;
    this.unseen.value = false;
    this.permit.value = [];
    this.left.value = new Set();
    this.typed.value = "";
    this.notice.value = "The action has just changed. You see the new version." +
      (this.draft.value === null ? "" : " Your edit is kept: press Edit to see it.") +
      (this.notes.value.length === 0 ? "" : " Your comments are kept: compare their lines.");
  }

  #cautionsOf(detail: ActionDetail): Caution[] {
    const cautions: Caution[] = baseCautions(detail);
    if (detail.risk.level === "critical") {
      const worst = [...detail.risk.factors].sort((a, b) => b.weight - a.weight)[0];
      cautions.push({
        kind: "critical",
        title: `Critical risk, ${detail.risk.score} of 100`,
        why: worst?.why ?? "The sum of the risk factors is critical.",
      });
    }
    if (this.hidden.value > 0) {
      cautions.push({
        kind: "hidden",
        title: count(this.hidden.value, "hidden character"),
        why: "The text may look different from what is executed. " +
          "Each hidden character is marked.",
      });
    }
    if (this.unseen.value) {
      cautions.push({
        kind: "unseen",
        title: "The new content is not shown",
        why: "It is too large for this page. You would approve it by size and hash.",
      });
    }
    if (this.ready.value && !this.ended.value) {
      cautions.push({
        kind: "unread",
        title: "You have not seen everything",
        why: "Scroll down to see the rest.",
      });
    }
    return cautions;
  }
}

const NOT_OFFERED = "Nothing was approved, because it would be refused. The card says why.";

/** No grant and no edited text of it is possible: a plan, or the changes of a command. */
export function isAsIs({ tool }: ActionDetail): boolean {
  return asksEachTime(tool);
}

/** Why an approval of the agent's version would certainly be refused; null if it may succeed. */
export function refusalOf({ status, base, obstacle }: ActionDetail): string | null {
  if (status !== "pending") return null;
  if (obstacle !== null) return `${obstacle}.`;
  return base && !base.rebased ? "The change does not fit the current file." : null;
}

function baseCautions({ base }: ActionDetail): Caution[] {
  if (!base?.rebased) return [];
  const why = "Approving applies the change to the current file, as the card shows.";
  return [{ kind: "base", title: "The file has changed since the action was held", why }];
}

/** Loaded with the dialogs of the proof, so an unlocked page loads no code. */
async function check(detail: ActionDetail): Promise<void> {
  const { checkShown } = await import("../../server/actions/show/check_shown.ts");
  await checkShown(detail);
}

import { computed, signal } from "@preact/signals";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { GrantOffer, GrantPreview, Remember } from "../../server/grants/schema.ts";
import { api, explain, unwrap } from "../state/client.ts";

/** The lifetimes of a grant, in seconds. */
export const TIMES = [
  { value: "900", label: "15 min" },
  { value: "3600", label: "1 h" },
  { value: "28800", label: "8 h" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "7 days" },
] as const;

export const USES = [
  { value: "1", label: "once" },
  { value: "10", label: "10 ×" },
  { value: "50", label: "50 ×" },
  { value: "500", label: "500 ×" },
] as const;

const SCOPES = [
  { value: "session", label: "This session" },
  { value: "project", label: "The whole project" },
] as const;

/** The choices of a reviewer who approves an action and creates a grant. */
export class Remembering {
  readonly preview = signal<GrantPreview | null>(null);
  /** Why the preview failed, or why a custom pattern is not accepted. */
  readonly problem = signal<string | null>(null);
  readonly busy = signal(false);
  /** The last choice; a session that has ended cannot be chosen. */
  readonly #wish = signal<Remember["scope"]>("session");
  /** The possible scopes of the grant. */
  readonly scopes = computed(() => {
    const given = this.preview.value?.scopes;
    return SCOPES.filter(({ value }) => given?.includes(value) ?? true);
  });
  readonly scope = computed<Remember["scope"]>(() =>
    this.scopes.value.some(({ value }) => value === this.#wish.value) ? this.#wish.value : "project"
  );
  readonly ttl = signal<string>("3600");
  readonly uses = signal<string>("10");
  /** The chosen pattern; null means exactly this action. */
  readonly pattern = signal<string | null>(null);
  readonly own = signal("");
  /** The chosen offer from the preview. */
  readonly chosen = computed<GrantOffer | null>(() =>
    this.preview.value?.offers.find(({ pattern }) => pattern === this.pattern.value) ?? null
  );
  readonly #detail: ActionDetail;

  constructor(detail: ActionDetail) {
    this.#detail = detail;
  }

  /** Loads the possible grants, and the past actions that each would have allowed. */
  async look(own?: string): Promise<void> {
    if (this.busy.value) return;
    const { id, project_id } = this.#detail;
    this.busy.value = true;
    this.problem.value = null;
    try {
      const json = { action_id: id, ...own && { pattern: own } };
      this.preview.value = await unwrap(api(project_id).api.grants.preview.$post({ json }));
      if (own) this.pattern.value = own;
    } catch (error) {
      this.problem.value = explain(error);
    } finally {
      this.busy.value = false;
    }
  }

  choose(scope: Remember["scope"]): void {
    this.#wish.value = scope;
  }

  /** Previews the typed pattern. */
  tryOwn(): void {
    const own = this.own.value.trim();
    if (own !== "") void this.look(own);
  }

  /** The grant to request; null without a previewed choice. */
  wanted(): Remember | null {
    if (this.chosen.value === null || this.busy.value) return null;
    const { pattern } = this.chosen.value;
    return {
      scope: this.scope.value,
      ttl_seconds: Number(this.ttl.value),
      max_uses: Number(this.uses.value),
      ...pattern !== null && { pattern },
    };
  }
}

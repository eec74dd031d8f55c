import type { ActionDetail } from "../schema.ts";

type Side = { text: string | null };

/**
 * An action as its agent sees it: without the contents of files, because no policy has said yet that
 * the agent may read them, and without what other sessions do to the same files.
 */
export function forAgent(detail: ActionDetail): ActionDetail {
  const { conflicts, files, base, lease } = detail;
  return {
    ...withoutTexts(detail),
    conflicts: conflicts.map((one) => ({ ...one, command: null, diff: null })),
    files: files && files.map(withoutTexts),
    base: base && {
      ...base,
      diff: null,
      rebased: base.rebased && { ...base.rebased, text: null, diff: null },
    },
    lease: lease && {
      ...lease,
      steps: lease.steps.map((step) => ({ ...withoutTexts(step), deletion: null })),
    },
    // It lists the files of folders.
    deletion: null,
  };
}

function withoutTexts<T extends { before: Side | null; after: Side | null }>(one: T): T {
  const { before, after } = one;
  return {
    ...one,
    before: before && { ...before, text: null },
    after: after && { ...after, text: null },
  };
}

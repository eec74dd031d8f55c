import { canonical } from "../../evidence/canonical.ts";
import { sha256Hex } from "../../proof/encoding.ts";
import { NotSigned } from "../../proof/not_signed.ts";
import type { ActionDetail, PlanStep } from "../schema.ts";
import { isGateTool } from "../tools.ts";
import { absolutePath } from "./unnamed_files.ts";

/**
 * Checks that the digest of an action covers what a card shows of it: tool, command, folder, files,
 * contents, scripts, programs and input. It runs where a person signs, in command line and browser.
 * @throws NotSigned with the difference
 */
export async function checkShown(shown: ActionDetail): Promise<void> {
  const { signed } = shown;
  if (signed === null) throw refuse("it has no plan");
  if (await sha256Hex(canonical(signed)) !== shown.digest) throw refuse("its plan is another one");
  for (const name of ["tool", "command", "cwd"] as const) {
    if (shown[name] !== signed[name]) throw refuse(`the shown ${NAMES[name]} is another one`);
  }
  if (!hasShownFiles(shown, signed)) throw refuse("the shown files are other ones");
  if (canonical(shown.programs) !== canonical(signed.programs ?? null)) {
    throw refuse("the shown programs are other ones");
  }
  if ((shown.outside?.reason ?? null) !== (signed.outside_because ?? null)) {
    throw refuse("the shown reason to leave the sandbox is another one");
  }
  const held = shown.decision.effect === "ask" ? shown.decision.sandbox : null;
  if (canonical(held) !== canonical(signed.sandbox ?? null)) {
    throw refuse("the shown sandbox is another one");
  }
  await checkTexts(shown);
  await checkInput(shown, signed);
  await checkLease(shown, signed);
}

/** Each shown step of a plan is the one of its digest, in the order that the digest covers. */
async function checkLease(shown: ActionDetail, signed: Signed): Promise<void> {
  const lease = signed.lease ?? null;
  const all = shown.lease?.steps ?? [];
  const isSame = shown.lease?.title === lease?.title && shown.lease?.seconds === lease?.seconds &&
    all.length === (lease?.steps.length ?? 0) &&
    all.every(({ digest, questions, number }, at) => {
      const step = lease!.steps[at]!;
      return number === at + 1 && digest === step.digest &&
        canonical(questions) === canonical(step.questions);
    });
  if (!isSame) throw refuse("the shown steps are other ones");
  for (const step of all) await checkShown(stepAsAction(shown, step));
}

/** A step of a plan as if it were an action of its own. */
export function stepAsAction(detail: ActionDetail, step: PlanStep): ActionDetail {
  const { number: _, questions: __, action_id: ___, ...own } = step;
  const none = { files: null, input: null, base: null, obstacle: null, approvals: null };
  return { ...detail, ...none, ...own, conflicts: [], restored: [], output: null, lease: null };
}

const NAMES = { tool: "tool", command: "command", cwd: "folder" } as const;

type Signed = NonNullable<ActionDetail["signed"]>;

/** The shown path may lead through a link; `unnamedFiles` tells. */
function hasShownFiles(shown: ActionDetail, { changes, scripts }: Signed): boolean {
  const { files } = shown;
  const isWhole = files === null || (files.length === changes.length &&
    files.every(({ path, is_known, after }, at) =>
      path === shown.changes[at]?.path && is_known === !changes[at]!.guessed &&
      (after === null || after.mode === changes[at]!.after?.mode)
    ));
  return isWhole && shown.changes.length === changes.length &&
    shown.scripts.length === scripts.length &&
    shown.changes.every(({ before_sha256, after_sha256 }, at) =>
      before_sha256 === changes[at]!.before &&
      after_sha256 === (changes[at]!.after?.sha256 ?? null)
    ) &&
    shown.scripts.every(({ path, sha256 }, at) => {
      const script = scripts[at]!;
      return sha256 === script.sha256 &&
        absolutePath(path, shown.root) === absolutePath(script.path, shown.root);
    });
}

/** Every shown text is the content whose hash the digest covers. */
async function checkTexts({ before, after, changes, files }: ActionDetail): Promise<void> {
  const [first] = changes;
  const moved = changes.find(({ before_sha256 }) => before_sha256 !== null);
  await checkText(after, [first?.after_sha256]);
  await checkText(before, [first?.before_sha256, moved?.before_sha256]);
  for (const [at, file] of (files ?? []).entries()) {
    const { before_sha256, after_sha256 } = changes[at]!;
    await checkText(file.before, [before_sha256]);
    await checkText(file.after, [after_sha256]);
  }
}

async function checkText(
  side: { text: string | null } | null,
  hashes: readonly (string | null | undefined)[],
): Promise<void> {
  if (side === null || side.text === null) return;
  if (!hashes.includes(await sha256Hex(side.text))) {
    throw refuse("the shown content is another one");
  }
}

/** The shown input is the whole one, or the shortened copy that the digest covers too. */
async function checkInput({ input, tool }: ActionDetail, signed: Signed): Promise<void> {
  if (input === null && (signed.input_sha256 === null || isGateTool(tool))) return;
  const isSame = signed.input === undefined
    ? await sha256Hex(JSON.stringify(input)) === signed.input_sha256
    : canonical(input) === canonical(signed.input);
  if (!isSame) throw refuse("the shown input is another one");
}

function refuse(why: string): NotSigned {
  return new NotSigned(`the action is not the one that its digest names: ${why}`);
}

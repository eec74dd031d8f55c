import { dirname } from "node:path";
import type { Analysis, PolicyLimits } from "../../policy/schema.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { missingFolders } from "../../runtime/folder.ts";
import { textOf } from "../contents.ts";
import { type After, type Draft, draftOf, MAX_IN_MEMORY, newState } from "../draft.ts";
import type { Asked, PlannedChange } from "../plan.ts";
import { scriptsOf } from "../scripts.ts";
import { resolveTarget } from "../target.ts";
import { absolute, type NativeCall } from "./call.ts";

/** One file on its way through a call. */
interface Step {
  path: string;
  shown: string;
  before: FileImage | null;
  /** What is known to stand there afterwards; undefined where only the host knows. */
  text: string | null | undefined;
}

/**
 * What a host's tool would do to the files, with what stands there now: that is what brings it back
 * later. What the host makes of a file is looked at when it has reported.
 */
export async function drawNative(
  asked: Asked,
  call: NativeCall,
  analysis: Analysis | null,
  limits: PolicyLimits,
): Promise<Draft> {
  const steps = await stepsOf(asked, call);
  const changes = steps.map((step) => ({ ...step, after: afterOf(step) }));
  const draft = draftOf(asked, changes, limits);
  const planned = draft.plan.changes.map((change, i): PlannedChange =>
    steps[i]!.text === undefined ? { ...change, after: change.before, guessed: true } : change
  );
  const folders = steps.filter(({ before }) => before === null)
    .flatMap(({ path }) => missingFolders(dirname(path)));
  const native = { ...asked.native!, new_folders: [...new Set(folders)] };
  const scripts = asked.cwd === null ? [] : await scriptsOf(analysis, asked.cwd);
  return { ...draft, plan: { ...draft.plan, changes: planned, scripts, native } };
}

/** Bytes of files that are held and read for one call, all of them together. */
export const MAX_HELD = 128 * 1024 * 1024;

/** Each file once, however often the call touches it. */
async function stepsOf(asked: Asked, { uses, cwd }: NativeCall): Promise<Step[]> {
  const steps = new Map<string, Step>();
  let left = MAX_HELD;
  const files = uses.filter((use) => use.is !== "command");
  for (const [i, use] of files.entries()) {
    if (use.is === "read") continue;
    const { real, shown } = asked.accesses[i]!.target;
    const step = steps.get(real) ?? await look(real, shown, left);
    if (!steps.has(real)) left -= step.before?.content?.length ?? 0;
    steps.set(real, step);
    if (use.is === "delete") step.text = null;
    else {
      const old = await oldText(use.from, cwd, steps);
      left = Math.max(0, left - (old?.length ?? 0));
      step.text = left > 0 ? use.make(old) ?? undefined : undefined;
    }
  }
  return [...steps.values()].filter(({ before, text }) => before !== null || text !== null);
}

async function look(path: string, shown: string, left: number): Promise<Step> {
  const before = await readImage(path, Math.min(MAX_IN_MEMORY, left));
  return { path, shown, before, text: undefined };
}

/** The text that an edit starts from, by way of what the same call has made of it before. */
async function oldText(from: string, cwd: string, steps: Map<string, Step>) {
  const { real } = resolveTarget(absolute(from, cwd), cwd);
  const known = steps.get(real);
  if (typeof known?.text === "string") return known.text;
  const image = known ? known.before : await readImage(real, MAX_IN_MEMORY);
  return image?.content ? textOf(image.content) : null;
}

function afterOf({ text }: Step): After | null {
  return typeof text === "string" ? newState(new TextEncoder().encode(text), null) : null;
}

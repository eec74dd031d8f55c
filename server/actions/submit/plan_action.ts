import { sha256 } from "../../db/chain.ts";
import { GateError } from "../../errors.ts";
import type { Proof } from "../../policy/prove/proved.ts";
import type { Analysis, PolicyLimits } from "../../policy/schema.ts";
import { type FileImage, type FileState, readImage } from "../../runtime/file_image.ts";
import { type Content, MAX_IN_MEMORY } from "../contents.ts";
import type { ActionServices } from "../context.ts";
import { findText } from "../find_text.ts";
import { forecast } from "../effects/forecast.ts";
import type { NewState, ParsedInput, Plan, PlannedChange } from "../plan.ts";
import type { Reversibility } from "../schema.ts";
import { editsOf } from "./input.ts";
import type { EditFileInput } from "./schema.ts";
import { programsOf } from "./programs.ts";
import { scriptsOf } from "./scripts.ts";

/** A plan with the contents that it refers to. */
export interface Planned {
  plan: Plan;
  /** The new contents, and those old contents that are small enough to be kept. */
  contents: Content[];
  /** Why a rollback could not restore the old files; null if it can. */
  irreversible: string | null;
  /** Of a command, whose changes are unknown beforehand. */
  reversibility?: Reversibility;
}

/** An evaluated input, from which the plan is made. */
interface PlanParts {
  input: ParsedInput;
  /** The bytes of a `write_file`. */
  content: Uint8Array | null;
  analysis: Analysis | null;
  proof?: Proof | null;
  limits: PolicyLimits;
}

/** A larger file is not edited, because an edit happens in memory. */
const MAX_EDITED = 64 * 1024 * 1024;
/** The most characters that the edits of one action search, because nothing else runs meanwhile. */
const MAX_SEARCHED = 256 * 1024 * 1024;

/**
 * Reads the files of an input and plans exactly what would be done.
 * @throws GateError `invalid` if it cannot be done: a folder, a pipe, a missing file
 */
export async function planAction(
  services: ActionServices,
  root: string,
  parts: PlanParts,
): Promise<Planned> {
  const { input, content, limits } = parts;
  switch (input.tool) {
    case "write_file":
      return await planWrite(input, () => content!, limits);
    case "edit_file":
      return await planWrite(input, (old) => edited(input, old), limits);
    case "delete_file":
      return await planDelete(input, limits);
    case "move_file":
      return await planMove(input, limits);
    case "run_command":
      return await planCommand(services, root, parts);
    default:
      return planNothing(input);
  }
}

/** Plans a command. Its effects are unknown; the forecast says how much of them could be undone. */
export async function planCommand(
  services: ActionServices,
  root: string,
  { input, analysis, proof = null, limits }: Omit<PlanParts, "content">,
): Promise<Planned> {
  const scripts = await scriptsOf(analysis, { command: input.command, cwd: input.cwd! });
  const { reversibility, reach } = await forecast(services, { ...input, root }, limits);
  const programs = programsOf(input, proof, await services.neighbours.roots());
  const { plan, ...rest } = planNothing(input);
  return { ...rest, plan: { ...plan, scripts, reach, ...programs && { programs } }, reversibility };
}

/** A plan without changes: for a blocked action, for which no file is read, and for a read. */
export function planNothing({ lease: _, ...input }: ParsedInput): Planned {
  const plan: Plan = { ...input, changes: [], scripts: [], emptied_folders: [] };
  return { plan, contents: [], irreversible: null };
}

/** Plans these changes, whose contents are at hand. */
export function planChanges(
  input: ParsedInput,
  changes: { path: string; shown: string; before: FileImage | null; after: After | null }[],
  limits: PolicyLimits,
): Planned {
  const contents: Content[] = [];
  let irreversible: string | null = null;
  const planned = changes.map(({ path, shown, before, after }): PlannedChange => {
    if (before && before.bytes <= limits.maxBlobBytes) {
      const { sha256, bytes } = before;
      contents.push({ sha256, content: before.content ?? { path, bytes } });
    } else if (before) {
      irreversible = `the present content of "${shown}" (${before.bytes} bytes) is larger than ` +
        `maxBlobBytes (${limits.maxBlobBytes})`;
    }
    if (after?.content) contents.push({ sha256: after.state.sha256, content: after.content });
    return { path, shown, before: before && stateOf(before), after: after && after.state };
  });
  const { plan } = planNothing(input);
  return { plan: { ...plan, changes: planned }, contents, irreversible };
}

/** The planned state of a file with its content; the content is null if the ledger keeps it already. */
export interface After {
  state: NewState;
  content: Uint8Array | null;
}

/** A content as the planned state of a file. */
export function newState(content: Uint8Array, mode: number | null): After {
  return { state: { sha256: sha256(content), bytes: content.length, mode }, content };
}

/** The hash, size and mode of a file image. */
export function stateOf({ sha256, bytes, mode }: FileImage): FileState {
  return { sha256, bytes, mode };
}

/**
 * Applies the edits in their order; each old text must occur exactly once.
 * @throws GateError `invalid`, naming the edit that fails
 */
export function editText(text: string, edits: EditFileInput["edits"], limit: number): string {
  let searched = 0;
  return edits.reduce((now, { old_text, new_text }, index) => {
    const which = `edit ${index + 1} of ${edits.length}`;
    searched += now.length;
    if (searched > MAX_SEARCHED) {
      const next = "send the other edits in a call of their own";
      throw uneditable(`${which}: the file is too large for so many edits; ${next}`);
    }
    const at = findText(now, old_text);
    if (at === -1) throw uneditable(`${which}: its old_text does not occur in the file`);
    if (findText(now, old_text, at + 1) !== -1) {
      throw uneditable(
        `${which}: its old_text occurs more than once; include more of the text around it`,
      );
    }
    if (now.length - old_text.length + new_text.length > limit) {
      throw uneditable(`${which}: the file would become too large`);
    }
    return now.slice(0, at) + new_text + now.slice(at + old_text.length);
  }, text);
}

async function planWrite(
  input: ParsedInput,
  contentFrom: (old: FileImage | null) => Uint8Array,
  limits: PolicyLimits,
): Promise<Planned> {
  const { path, shown } = targetOf(input);
  const keep = input.tool === "edit_file" ? MAX_EDITED : keepIn(limits);
  const before = await readImage(path, keep);
  const after = newState(contentFrom(before), null);
  return planChanges(input, [{ path, shown, before, after }], limits);
}

async function planDelete(input: ParsedInput, limits: PolicyLimits): Promise<Planned> {
  const { path, shown } = targetOf(input);
  const before = await readImage(path, keepIn(limits));
  if (!before) throw missing(shown, "delete");
  return planChanges(input, [{ path, shown, before, after: null }], limits);
}

async function planMove(input: ParsedInput, limits: PolicyLimits): Promise<Planned> {
  const [to, from] = input.accesses.map(({ target }) => target);
  const before = await readImage(from!.real, keepIn(limits));
  if (!before) throw missing(from!.shown, "move");
  if (before.bytes > limits.maxBlobBytes) {
    const message = `Cannot move "${from!.shown}": it is too large to be kept (maxBlobBytes)`;
    throw new GateError("invalid", message);
  }
  if (await readImage(to!.real, 0)) {
    throw new GateError("invalid", `Cannot move to "${to!.shown}": the file exists already`);
  }
  const after = { state: stateOf(before), content: null };
  return planChanges(input, [
    { path: to!.real, shown: to!.shown, before: null, after },
    { path: from!.real, shown: from!.shown, before, after: null },
  ], limits);
}

function edited(input: ParsedInput, old: FileImage | null): Uint8Array {
  const { shown } = targetOf(input);
  if (!old) throw missing(shown, "edit");
  if (!old.content) throw new GateError("invalid", `Cannot edit "${shown}": it is too large`);
  return new TextEncoder().encode(editText(textOf(old.content, shown), editsOf(input), MAX_EDITED));
}

function textOf(content: Uint8Array, shown: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch (cause) {
    throw new GateError("invalid", `Cannot edit "${shown}": it is not UTF-8 text`, { cause });
  }
}

function keepIn({ maxBlobBytes }: PolicyLimits): number {
  return Math.min(MAX_IN_MEMORY, maxBlobBytes);
}

function targetOf(input: ParsedInput): { path: string; shown: string } {
  const { target } = input.accesses[0]!;
  return { path: target.real, shown: target.shown };
}

function missing(shown: string, verb: string): GateError {
  return new GateError("invalid", `Cannot ${verb} "${shown}": there is no such file`);
}

function uneditable(why: string): GateError {
  return new GateError("invalid", `Cannot edit the file: ${why}`);
}

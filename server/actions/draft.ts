import { sha256 } from "../db/chain.ts";
import { GateError } from "../errors.ts";
import type { Analysis, PolicyLimits } from "../policy/schema.ts";
import { type FileImage, type FileState, readImage } from "../runtime/file_image.ts";
import { editText } from "./edit_text.ts";
import type { Asked, NewState, Plan, PlannedChange } from "./plan.ts";
import type { Reversibility } from "./schema.ts";
import type { EditFileInput } from "./inputs/schema.ts";
import { forecast } from "./reach/forecast.ts";
import { scriptsOf } from "./scripts.ts";
import type { ActionServices } from "./services.ts";

/** Bytes under their hash; of a large file, where they are to be read from. */
export interface Content {
  sha256: string;
  content: Uint8Array | { path: string; bytes: number };
}

/** A plan with the contents that it names. */
export interface Draft {
  plan: Plan;
  /** To be kept: what is to be written, and what stood there before where it may be kept. */
  contents: Content[];
  /** Why a rollback could not restore what was there; null where it can. */
  irreversible: string | null;
  /** Of a command, which has no changes beforehand. */
  reversibility?: Reversibility;
}

/** A larger file is not edited: that happens in memory. */
const MAX_EDITED = 64 * 1024 * 1024;
/** A larger content is never held whole, but goes piece by piece. */
export const MAX_IN_MEMORY = 8 * 1024 * 1024;

/**
 * Looks at the disk and says what exactly would be done.
 * @throws GateError `invalid` where it cannot be done at all: folders, pipes, missing files
 */
export async function drawUp(
  services: ActionServices,
  root: string,
  { asked, content, analysis, limits }: Wanted,
): Promise<Draft> {
  switch (asked.tool) {
    case "write_file":
      return await drawWrite(asked, () => content!, limits);
    case "edit_file":
      return await drawWrite(asked, (old) => edited(asked, old), limits);
    case "delete_file":
      return await drawDelete(asked, limits);
    case "move_file":
      return await drawMove(asked, limits);
    case "run_command":
      return await drawCommand(services, root, { asked, analysis, limits });
    default:
      return withoutChanges(asked, []);
  }
}

/** What a draft is drawn up from. */
export interface Wanted {
  asked: Asked;
  content: Uint8Array | null;
  analysis: Analysis | null;
  limits: PolicyLimits;
}

/** The draft of these changes, whose contents are at hand. */
export function draftOf(
  asked: Asked,
  changes: { path: string; shown: string; before: FileImage | null; after: After | null }[],
  limits: PolicyLimits,
  emptied_folders: string[] = [],
): Draft {
  const contents: Content[] = [];
  let irreversible: string | null = null;
  const planned = changes.map(({ path, shown, before, after }): PlannedChange => {
    if (before && before.bytes <= limits.maxBlobBytes) {
      const { sha256, bytes } = before;
      contents.push({ sha256, content: before.content ?? { path, bytes } });
    } else if (before) {
      irreversible = `what "${shown}" holds now (${before.bytes} bytes) is larger than ` +
        `maxBlobBytes (${limits.maxBlobBytes})`;
    }
    if (after?.content) contents.push({ sha256: after.state.sha256, content: after.content });
    return { path, shown, before: before && stateOf(before), after: after && after.state };
  });
  const plan = { ...asked, changes: planned, scripts: [], emptied_folders };
  return { plan, contents, irreversible };
}

/** What is to stand somewhere, with its content; null where that is kept already. */
export interface After {
  state: NewState;
  content: Uint8Array | null;
}

/** A content as the new state of a file. */
export function newState(content: Uint8Array, mode: number | null): After {
  return { state: { sha256: sha256(content), bytes: content.length, mode }, content };
}

async function drawWrite(
  asked: Asked,
  contentFrom: (old: FileImage | null) => Uint8Array,
  limits: PolicyLimits,
): Promise<Draft> {
  const { path, shown } = only(asked);
  const keep = asked.tool === "edit_file" ? MAX_EDITED : keepIn(limits);
  const before = await readImage(path, keep);
  const after = newState(contentFrom(before), null);
  return draftOf(asked, [{ path, shown, before, after }], limits);
}

async function drawDelete(asked: Asked, limits: PolicyLimits): Promise<Draft> {
  const { path, shown } = only(asked);
  const before = await readImage(path, keepIn(limits));
  if (!before) throw missing(shown, "delete");
  return draftOf(asked, [{ path, shown, before, after: null }], limits);
}

async function drawMove(asked: Asked, limits: PolicyLimits): Promise<Draft> {
  const [to, from] = asked.accesses.map(({ target }) => target);
  const before = await readImage(from!.real, keepIn(limits));
  if (!before) throw missing(from!.shown, "move");
  if (before.bytes > limits.maxBlobBytes) {
    const message = `Cannot move "${from!.shown}": it is too large to be kept (maxBlobBytes)`;
    throw new GateError("invalid", message);
  }
  if (await readImage(to!.real, 0)) {
    throw new GateError("invalid", `Cannot move to "${to!.shown}": a file stands there already`);
  }
  const { sha256, bytes, mode } = before;
  const after = { state: { sha256, bytes, mode }, content: null };
  return draftOf(asked, [
    { path: to!.real, shown: to!.shown, before: null, after },
    { path: from!.real, shown: from!.shown, before, after: null },
  ], limits);
}

function edited(asked: Asked, old: FileImage | null): Uint8Array {
  const { shown } = only(asked);
  if (!old) throw missing(shown, "edit");
  if (!old.content) throw new GateError("invalid", `Cannot edit "${shown}": it is too large`);
  const { edits } = asked.input as EditFileInput;
  return new TextEncoder().encode(editText(textOf(old.content, shown), edits, MAX_EDITED));
}

function keepIn({ maxBlobBytes }: PolicyLimits): number {
  return Math.min(MAX_IN_MEMORY, maxBlobBytes);
}

function textOf(content: Uint8Array, shown: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch (cause) {
    throw new GateError("invalid", `Cannot edit "${shown}": it is not UTF-8 text`, { cause });
  }
}

function withoutChanges(asked: Asked, scripts: Plan["scripts"]): Draft {
  const plan = { ...asked, changes: [], scripts, emptied_folders: [] };
  return { plan, contents: [], irreversible: null };
}

/** The draft of a command: what it does is not known, but how much of that could be undone. */
export async function drawCommand(
  services: ActionServices,
  root: string,
  { asked, analysis, limits }: Omit<Wanted, "content">,
): Promise<Draft> {
  const scripts = await scriptsOf(analysis, asked.cwd!);
  const { reversibility, reach } = await forecast(services, { ...asked, root }, limits);
  const { plan, ...rest } = withoutChanges(asked, scripts);
  return { ...rest, plan: { ...plan, reach }, reversibility };
}

function only(asked: Asked): { path: string; shown: string } {
  const { target } = asked.accesses[0]!;
  return { path: target.real, shown: target.shown };
}

function stateOf({ sha256, bytes, mode }: FileImage): FileState {
  return { sha256, bytes, mode };
}

function missing(shown: string, verb: string): GateError {
  return new GateError("invalid", `Cannot ${verb} "${shown}": there is no such file`);
}

import { textOf } from "../actions/contents.ts";
import type { PlannedChange } from "../actions/plan.ts";
import { inTurns } from "../actions/scheduling.ts";
import { unifiedDiff } from "../actions/texts.ts";
import { type DoneRow, listDone } from "../actions/rollback/done_store.ts";
import { lastDrop, readBlob, sizeOfBlob } from "../db/blobs.ts";
import type { Ledger } from "../db/ledger.ts";
import type { FileDiff, SessionDiff } from "./schema.ts";
import type { Sessions } from "./sessions.ts";

/** The most actions in one diff. */
const MAX_ACTIONS = 10_000;
/** The most bytes of a file with a patch. Larger files have only size and hash. */
const MAX_TEXT = 512 * 1024;
/** The most characters of all patches together. Later files have only size and hash. */
const MAX_PATCHES = 8 * 1024 * 1024;

type State = PlannedChange["before"] | PlannedChange["after"];

/** The states of one file during the session. */
interface Track {
  path: string;
  /** The path before the session. */
  from: string;
  before: State;
  after: State;
  action_ids: string[];
}

/** The effects of a session on files: in total, and for each action, oldest first. */
export async function diffSession(
  { ledger, sessions }: { ledger: Ledger; sessions: Sessions },
  session_id: string,
): Promise<SessionDiff> {
  await sessions.get(session_id);
  const done = (await listDone(ledger, session_id, MAX_ACTIONS)).slice(0, MAX_ACTIONS)
    .filter(({ plan }) => plan?.changes.length);
  const patches = new Patches(ledger);
  const files: FileDiff[] = [];
  for await (const track of inTurns(follow(done))) files.push(await patches.of(track));
  const actions: SessionDiff["actions"] = [];
  for await (const row of inTurns(done)) {
    const { id, tool, status, rollback_of, created_at } = row;
    const own: FileDiff[] = [];
    for (const track of follow([row])) own.push(await patches.of(track));
    actions.push({ action_id: id, tool, status, rollback_of, created_at, files: own });
  }
  return { session_id, files: files.filter(({ change }) => change !== "none"), actions };
}

/** Each file from its first state to its last, across moves, in order of its first change. */
function follow(rows: readonly DoneRow[]): Track[] {
  const tracks: Track[] = [];
  const at = new Map<string, Track>();
  const touch = ({ path, shown, before }: PlannedChange, id: string): Track => {
    const known = at.get(path);
    const track = known ?? { path: shown, from: shown, before, after: before, action_ids: [] };
    if (!known) tracks.push(track);
    at.set(path, track);
    if (track.action_ids.at(-1) !== id) track.action_ids.push(id);
    return track;
  };
  for (const { id, plan } of rows) {
    const moved = new Set<PlannedChange>();
    for (const { from, to } of movesOf(plan!.changes)) {
      if (at.has(to.path)) continue;
      const track = touch(from, id);
      at.delete(from.path);
      at.set(to.path, track);
      Object.assign(track, { path: to.shown, after: to.after });
      moved.add(from).add(to);
    }
    for (const change of plan!.changes) {
      if (!moved.has(change)) touch(change, id).after = stateAfter(change);
    }
  }
  return tracks;
}

/** Moves: a deleted file and a created one with the same content. */
function movesOf(changes: readonly PlannedChange[]) {
  const gone = changes.filter(({ before, after }) => before && !after);
  return changes.filter(({ before, after }) => !before && after).flatMap((to) => {
    const found = gone.findIndex(({ before }) => before!.sha256 === to.after!.sha256);
    return found === -1 ? [] : [{ from: gone.splice(found, 1)[0]!, to }];
  });
}

/** The state after a change. Without a mode of its own, it keeps the old mode. */
function stateAfter({ before, after }: PlannedChange): State {
  return after && { ...after, mode: after.mode ?? before?.mode ?? null };
}

class Patches {
  readonly #ledger: Ledger;
  #left = MAX_PATCHES;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async of({ path, from, before, after, action_ids }: Track): Promise<FileDiff> {
    const renamed_from = from === path ? null : from;
    const change = changeOf({ renamed_from, before, after });
    const shown = { path, renamed_from, change, before, after, action_ids };
    if (before?.sha256 === after?.sha256) return { ...shown, patch: null, omitted: null };
    const texts = await this.#texts(before, after);
    if (typeof texts === "string") return { ...shown, patch: null, omitted: texts };
    const names = [before ? from : "/dev/null", after ? path : "/dev/null"] as const;
    const patch = unifiedDiff(names[0], texts[0]!, texts[1]!, names[1]);
    if (patch === null) return { ...shown, patch, omitted: "too_different" };
    this.#left -= patch.length;
    return { ...shown, patch, omitted: null };
  }

  async #texts(...states: State[]): Promise<string[] | NonNullable<FileDiff["omitted"]>> {
    if (this.#left <= 0) return "too_large";
    const texts: string[] = [];
    for (const state of states) {
      const text = await this.#text(state);
      if (!text.ok) return text.why;
      texts.push(text.text);
    }
    return texts;
  }

  async #text(state: State): Promise<Text> {
    if (!state) return { ok: true, text: "" };
    if (state.bytes > MAX_TEXT) return { ok: false, why: "too_large" };
    if (await sizeOfBlob(this.#ledger, state.sha256) === null) {
      const dropped_at = await lastDrop(this.#ledger, [state.sha256]);
      return { ok: false, why: dropped_at === null ? "not_kept" : "dropped" };
    }
    const content = await readBlob(this.#ledger, state.sha256);
    const text = content && textOf(content);
    return text === null ? { ok: false, why: "binary" } : { ok: true, text };
  }
}

type Text = { ok: true; text: string } | { ok: false; why: NonNullable<FileDiff["omitted"]> };

function changeOf(
  { renamed_from, before, after }: Pick<FileDiff, "renamed_from" | "before" | "after">,
): FileDiff["change"] {
  if (!before) return after ? "created" : "none";
  if (!after) return "deleted";
  if (renamed_from !== null) return "renamed";
  return before.sha256 === after.sha256 && before.mode === after.mode ? "none" : "modified";
}

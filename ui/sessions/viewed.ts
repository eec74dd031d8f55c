import { signal } from "@preact/signals";
import type { FileDiff, ViewedFile } from "../../server/sessions/schema.ts";
import { announce } from "../parts/toast.tsx";
import { api, explain, unwrap } from "../state/client.ts";

/** The session whose files are shown. */
interface Shown {
  id: string;
  project_id: string;
}

/** The marks of the shown session, which the daemon keeps for this person. */
const marks = signal<ReadonlySet<string>>(new Set());
let shown: Shown | null = null;
/** One request at a time; only the answer of the last one counts. */
let queue: Promise<void> = Promise.resolve();
let asked = 0;

/** Reads what this person has marked in the session, which is shown from now on. */
export function loadViewed({ id, project_id }: Shown): void {
  if (shown?.id !== id) marks.value = new Set();
  shown = { id, project_id };
  ask("Your marks could not be read", () => viewedOf(project_id).$get({ param: { id } }));
}

/** Whether the reader marked the file as viewed, and it has not changed since. */
export function isViewed(file: FileDiff): boolean {
  return marks.value.has(keyOf(markOf(file)));
}

/** Marks a file of the shown session as viewed, or takes the mark away. */
export function setViewed(file: FileDiff, is_viewed: boolean): void {
  if (shown === null) return;
  const { id, project_id } = shown;
  const mark = markOf(file);
  const before = marks.peek();
  const others = [...before].filter((key) => key !== keyOf(mark));
  marks.value = new Set(is_viewed ? [...others, keyOf(mark)] : others);
  const request = { param: { id }, json: { ...mark, is_viewed } };
  const send = () => viewedOf(project_id).$put(request);
  ask("The mark is not saved", send, () => marks.value = before);
}

function viewedOf(project: string) {
  return api(project).api.sessions[":id"].viewed;
}

function ask(trouble: string, send: () => Promise<Response>, undo = () => {}): void {
  const turn = ++asked;
  queue = queue.then(async () => {
    try {
      const { items } = await unwrap<{ items: ViewedFile[] }>(send());
      if (turn === asked) marks.value = new Set(items.map(keyOf));
    } catch (error) {
      if (turn === asked) undo();
      announce({ text: `${trouble}: ${explain(error)}`, tone: "danger" }, null);
    }
  });
}

function markOf({ path, before, after }: FileDiff): ViewedFile {
  return { path, before_sha256: before?.sha256 ?? null, after_sha256: after?.sha256 ?? null };
}

/** Another text for each content, so that a change takes the mark away. */
function keyOf({ path, before_sha256, after_sha256 }: ViewedFile): string {
  return JSON.stringify([before_sha256, after_sha256, path]);
}

import type { Signal } from "@preact/signals";
import type { ActionList } from "../../server/actions/list/schema.ts";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { Button } from "../parts/button.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import { useRead } from "../state/read.ts";
import { nameOf, type Place } from "./notes.tsx";
import { type Thread, threadsOf } from "./threads.ts";

export interface EarlierProps {
  action: { id: string; project_id: string };
  file: Pick<ActionDetail, "after_sha256" | "before" | "after"> & { path: string };
  settled: Signal<readonly string[]>;
  /** Where the form for a comment is open. */
  place: Signal<Place | null>;
}

/** The comments on rejected versions of a file, each at its line now, with what became of it. */
export function EarlierComments({ action, file, settled, place }: EarlierProps) {
  const { path, before, after } = file;
  const now = { before: before?.text ?? null, after: after?.text ?? null };
  const { value } = useRead(
    `${action.id} ${path} ${file.after_sha256}`,
    async () => threadsOf(path, now, await readRejected(action, path)),
    () => false,
  );
  if (value === null || value.length === 0) return null;
  const turn = (id: string) => {
    const { value: ids } = settled;
    settled.value = ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id];
  };
  return (
    <section class="notes notes-earlier" aria-label="Earlier comments">
      <h3>Comments on earlier versions</h3>
      <ul>
        {value.map((thread) => (
          <ThreadView
            key={thread.id}
            thread={thread}
            isSettled={settled.value.includes(thread.id)}
            onSettle={() => turn(thread.id)}
            onAnswer={() => {
              const { id: answers, line, side } = thread;
              place.value = { line, side, answers };
            }}
          />
        ))}
      </ul>
      <p class="quiet small">
        An approval settles all of them. What you settle here is recorded when you reject.
      </p>
    </section>
  );
}

interface ThreadProps {
  thread: Thread;
  isSettled: boolean;
  onSettle: () => void;
  onAnswer: () => void;
}

function ThreadView({ thread, isSettled, onSettle, onAnswer }: ThreadProps) {
  const address = useAddress();
  const { line, side, quote, became, said } = thread;
  return (
    <li>
      <p class="dotted small">
        <span>{nameOf({ line, side })}</span>
        <span class={became === "unchanged" ? "tone-warn" : "quiet"}>{BECAME[became]}</span>
      </p>
      {quote !== null && quote !== "" && <Code value={quote.slice(0, 200)} />}
      <ol>
        {said.map(({ text, by, at, action_id }) => (
          <li key={`${action_id} ${text}`}>
            <Text as="p" value={text} />
            <p class="dotted quiet small">
              <Text as="span" value={by} />
              <a href={address.href(`/actions/${action_id}`)}>
                rejected <Ago at={at} said />
              </a>
            </p>
          </li>
        ))}
      </ol>
      <div class="decision-buttons">
        <Button kind="quiet" onClick={onAnswer}>Answer</Button>
        <Button kind="quiet" pressed={isSettled} onClick={onSettle}>
          {isSettled ? "Settled" : "Settle"}
        </Button>
      </div>
    </li>
  );
}

const BECAME: Record<Thread["became"], string> = {
  unchanged: "The agent left this line as it was",
  changed: "The agent changed this line",
  unknown: "That version cannot be compared",
};

/** So many earlier actions on the file are searched, and so many rejections are read. */
const SEARCHED = 50;
const MOST_READ = 8;

/** The rejected versions since the last approved one, oldest first. */
async function readRejected(
  { id, project_id }: EarlierProps["action"],
  path: string,
): Promise<ActionDetail[]> {
  const { actions } = api(project_id).api;
  const answer = await unwrap<ActionList | { count: number }>(
    actions.$get({ query: { path, limit: String(SEARCHED) } }),
  );
  const others = "items" in answer ? answer.items.filter((one) => one.id !== id) : [];
  const end = others.findIndex(isApproved);
  const rejected = others.slice(0, end < 0 ? others.length : end)
    .filter(({ status, reason }) => status === "rejected" && reason !== null);
  return await Promise.all(
    rejected.slice(0, MOST_READ).reverse().map(({ id }) =>
      unwrap<ActionDetail>(actions[":id"].$get({ param: { id } }))
    ),
  );
}

function isApproved({ status, tool }: Action): boolean {
  return tool !== "read_file" && (status === "approved" || status === "rolled_back");
}

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Receiver } from "../../server/config/notifications/schema.ts";
import type {
  NotificationStatus,
  ReceiverChange,
  ReceiverStatus,
} from "../../server/notifications/schema.ts";
import { ExplainedError } from "../../server/proof/explained_error.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { announce } from "../parts/toast.tsx";
import { count } from "../parts/words.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useLive } from "../state/live.ts";
import { isNotifying, openNotices, permitNotices, startNotices, stopNotices } from "./notices.ts";
import { ReceiverForm } from "./receiver_form.tsx";

/** Where gate tells people about held actions: this browser, and the receivers in force. */
export function NotificationSettings() {
  const status = useSignal<NotificationStatus | null>(null);
  const configured = useSignal<readonly Receiver[]>([]);
  const failed = useSignal(false);
  const read = async (late?: AbortSignal) => {
    const { notifications } = api().api;
    const found = await Promise.all([
      unwrap(notifications.$get()),
      unwrap(notifications.receivers.$get()),
    ]).catch(() => null);
    if (late?.aborted) return;
    failed.value = found === null;
    if (found === null) return;
    status.value = found[0];
    configured.value = found[1].items;
  };
  useLive("notifications", read, ({ type }) => type === "policy.changed");
  useEffect(openNotices, []);
  const reread = () => void read();
  return (
    <section class="settings" aria-labelledby="settings-notifications">
      <h2 id="settings-notifications">Notifications</h2>
      <p class="quiet">
        Add a receiver here or with{" "}
        <code>gate notify add</code>. Nothing leaves this machine before you accept it. Secrets stay
        in variables of the daemon or in files that only you can read; here they are only named.
      </p>
      <label class="field-check">
        <input
          type="checkbox"
          checked={isNotifying.value}
          onChange={(event) => void turn(event.currentTarget)}
        />
        <span>Show held actions as notifications of this browser</span>
      </label>
      {failed.value && <p class="quiet">The receivers cannot be read; reload the page.</p>}
      {status.value === null ? !failed.value && <Skeleton lines={2} /> : (
        <>
          {status.value.waits && (
            <p class="notice tone-warn">
              <Icon name="alert" />
              <span>
                config.json names other receivers; accept the change above, or undo it in the file.
              </span>
            </p>
          )}
          {status.value.receivers.map((one) => (
            <ReceiverPart
              key={one.id}
              receiver={one}
              configured={configured.value.find(({ id }) => id === one.id) ?? null}
              onChange={reread}
            />
          ))}
          <AddReceiver onChange={reread} />
        </>
      )}
    </section>
  );
}

function tell(text: string, tone: "ok" | "danger"): void {
  announce({ text, tone }, null);
}

let turns = 0;

async function turn(box: HTMLInputElement): Promise<void> {
  const own = ++turns;
  if (!box.checked) return stopNotices();
  const isPermitted = await permitNotices();
  // The person may have turned the box off while the browser asked.
  if (own !== turns) return;
  box.checked = isPermitted;
  if (isPermitted) startNotices();
  else tell("The browser does not permit notifications of this page.", "danger");
}

/** Runs one task at a time, tells its outcome, and says whether it went well. */
function useActing(onChange: () => void) {
  const busy = useSignal(false);
  const act = async (task: () => Promise<string>): Promise<boolean> => {
    if (busy.peek()) return false;
    busy.value = true;
    try {
      tell(await task(), "ok");
      return true;
    } catch (error) {
      tell(explain(error), "danger");
      return false;
    } finally {
      busy.value = false;
      onChange();
    }
  };
  return { busy: busy.value, act };
}

/** The project that stands for the machine's own config. */
const MACHINE = "machine";

/** Accepts the changed config, which needs the person's proof. Without it the change waits. */
async function accepted({ change }: ReceiverChange): Promise<void> {
  if (change === null) return;
  const { path, after_sha256: sha256, number } = change;
  const json = { path, sha256, number };
  await unwrap(api(MACHINE).api.config.accept.$post({ json }));
}

function AddReceiver({ onChange }: { onChange: () => void }) {
  const { busy, act } = useActing(onChange);
  const turn = useSignal(0);
  const isOpen = useSignal(false);
  const save = async (json: Receiver) => {
    const isDone = await act(async () => {
      await accepted(await unwrap(api().api.notifications.receivers.$post({ json })));
      return `${json.id} gets news from now on.`;
    });
    if (!isDone) return;
    turn.value += 1;
    isOpen.value = false;
  };
  return (
    <details
      class="team-add"
      open={isOpen.value}
      onToggle={(event) => isOpen.value = event.currentTarget.open}
    >
      <summary>Add a receiver</summary>
      <ReceiverForm key={turn.value} busy={busy} onSave={(one) => void save(one)} />
    </details>
  );
}

interface PartProps {
  receiver: ReceiverStatus;
  /** Its fields in config.json; null if the file does not name it any more. */
  configured: Receiver | null;
  onChange: () => void;
}

function ReceiverPart({ receiver, configured, onChange }: PartProps) {
  const { id, kind, target, problem, waiting, dead } = receiver;
  const { busy, act } = useActing(onChange);
  const step = useSignal<"change" | "remove" | null>(null);
  const test = () =>
    act(async () => {
      const { items: [one] } = await unwrap(
        api().api.notifications.test.$post({ json: { receiver_id: id } }),
      );
      if (one?.ok) return `The test arrived at ${id}.`;
      throw new ExplainedError(`Cannot reach ${id}: ${one?.error}`);
    });
  const retry = () =>
    act(async () => {
      const { retried } = await unwrap(
        api().api.notifications.retry.$post({ json: { receiver_id: id } }),
      );
      return `gate sends ${count(retried, "message")} again.`;
    });
  const one = api().api.notifications.receivers[":id"];
  const save = async (json: Receiver) => {
    const isDone = await act(async () => {
      await accepted(await unwrap(one.$put({ param: { id }, json })));
      return `${id} is changed.`;
    });
    if (isDone) step.value = null;
  };
  const remove = () =>
    act(async () => {
      await accepted(await unwrap(one.$delete({ param: { id } })));
      return `${id} gets no more news.`;
    });
  return (
    <div role="group" aria-label={id}>
      <h3>
        <Text value={id} />
      </h3>
      <p class="quiet">
        {kind}, <Text value={target} />
        {waiting > 0 && `; ${waiting} waiting`}
        {dead > 0 && `; ${dead} given up`}
      </p>
      {problem !== null && (
        <p class="notice tone-danger">
          <Icon name="alert" />
          <Text value={problem} />
        </p>
      )}
      {step.value === "change" && configured
        ? (
          <ReceiverForm
            receiver={configured}
            busy={busy}
            onSave={(next) => void save(next)}
            onCancel={() => step.value = null}
          />
        )
        : step.value === "remove"
        ? (
          <div class="proof-buttons">
            <Button kind="danger" onClick={() => void remove()} busy={busy}>Remove {id}</Button>
            <Button kind="quiet" onClick={() => step.value = null}>Back</Button>
          </div>
        )
        : (
          <div class="proof-buttons">
            <Button onClick={() => void test()} busy={busy}>Send a test</Button>
            {dead > 0 && <Button onClick={() => void retry()} busy={busy}>Send again</Button>}
            {configured && <Button onClick={() => step.value = "change"}>Change</Button>}
            {configured && (
              <Button kind="danger" icon="trash" onClick={() => step.value = "remove"}>
                Remove
              </Button>
            )}
          </div>
        )}
    </div>
  );
}

import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useAddress } from "../state/address.ts";
import { proof } from "../state/proof.ts";
import { openSetDialog } from "./choosing.ts";
import { changedFrom, changedMembers, rememberKey } from "./known.ts";
import { KIND_NAMES } from "./words.ts";

/** Warnings about who can approve, above every page. */
export function ProofNotices() {
  const status = proof.value;
  const before = changedFrom.value;
  const changed = before === null ? changedMembers.value : [];
  const nothing = status === null ||
    (status.problem === null && before === null && changed.length === 0 &&
      (status.kind !== "none" || status.open));
  return (
    <>
      <div class="banners" role="region" aria-label="Proof" aria-live="polite" hidden={nothing}>
        {status?.problem && <Refused problem={status.problem} />}
        {before !== null && status !== null && <Changed before={before.kind} />}
        {changed.length > 0 && status !== null && <MembersChanged ids={changed} />}
        {status?.kind === "none" && status.problem === null && !status.open && <NotSet />}
      </div>
      {status?.open ? <Anybody /> : status?.kind === "token" && <AnyProgram />}
    </>
  );
}

function Refused({ problem }: { problem: string }) {
  return (
    <div class="banner tone-danger">
      <Icon name="octagon" />
      <div class="banner-text">
        <p>
          <strong>gate refuses every decision.</strong>
        </p>
        <p>
          <Text value={problem} />
        </p>
      </div>
    </div>
  );
}

function Changed({ before }: { before: keyof typeof KIND_NAMES }) {
  const now = proof.value!;
  const key = now.enrolled.find(({ role }) => role === undefined);
  return (
    <div class="banner tone-danger">
      <Icon name="octagon" />
      <div class="banner-text">
        <p>
          <strong>Who can approve was changed outside this browser.</strong>
        </p>
        <p>
          Before: {KIND_NAMES[before]}. Now: {KIND_NAMES[now.kind]}
          {key && (
            <>
              , key <Text value={key.key_id.slice(0, 12)} />…, set <Ago at={key.created_at} said />
            </>
          )}.
        </p>
        <p class="quiet">
          If it was not you, do not approve anything and type no passphrase. Run{" "}
          <code>gate daemon stop</code>, move the data folder <code>~/.gate</code> aside, then run
          {" "}
          <code>gate proof set</code> and <code>gate init</code>{" "}
          in each project. The old records stay in the folder that you moved.
        </p>
      </div>
      <Button icon="check" onClick={() => rememberKey(now)}>It was me</Button>
    </div>
  );
}

/** A key of a further member decides too, so everybody is told about a new or another one. */
function MembersChanged({ ids }: { ids: string[] }) {
  const now = proof.value!;
  return (
    <div class="banner tone-warn">
      <Icon name="key" />
      <div class="banner-text">
        <p>
          <strong>A member’s key has changed.</strong>
        </p>
        {ids.map((id) => {
          const key = now.enrolled.find((one) => one.role !== undefined && one.member_id === id);
          return (
            <p key={id}>
              <Text value={id} />
              {key
                ? (
                  <>
                    : set <Ago at={key.created_at} said />
                  </>
                )
                : ": has no key any more"}
            </p>
          );
        })}
      </div>
      <Button onClick={() => rememberKey(now)}>I know</Button>
    </div>
  );
}

function NotSet() {
  return (
    <div class="banner tone-warn">
      <Icon name="alert" />
      <div class="banner-text">
        <p>
          <strong>Nothing can be approved yet.</strong> Set a passphrase or a passkey first.
        </p>
      </div>
      <Button kind="primary" icon="key" onClick={openSetDialog}>Set it up</Button>
    </div>
  );
}

function Anybody() {
  return (
    <section class="strip small" aria-label="Who can approve">
      <Icon name="alert" />
      <p>Whoever reaches this port can approve: the daemon runs with --auth none.</p>
    </section>
  );
}

// Said on every page, in one line, because it stays.
function AnyProgram() {
  const address = useAddress();
  return (
    <section class="strip small" aria-label="Who can approve">
      <Icon name="alert" />
      <p>
        Any program of this user can approve: no passphrase or passkey is set.{" "}
        <a href={address.href("/settings")}>Set one</a>
      </p>
    </section>
  );
}

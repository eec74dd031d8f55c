import { useSignal } from "@preact/signals";
import type { Member, Role, Whoami } from "../../server/team/schema.ts";
import type { EnrolledKey } from "../../server/proof/schema.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { api, unwrap } from "../state/client.ts";
import { proof } from "../state/proof.ts";
import { removeKeyOf } from "../proof/enrol.ts";
import { AddMember } from "./add_member.tsx";
import { LinkDialog } from "./link_dialog.tsx";
import { createLink } from "./link.ts";
import { RoleChoice } from "./role_choice.tsx";
import { useWorking } from "../parts/working.ts";

interface MembersProps {
  members: Member[];
  me: Whoami;
  onChange: () => void;
}

/** The members with their roles and keys. An admin adds, changes, invites and removes them. */
export function Members({ members, me, onChange }: MembersProps) {
  const link = useSignal<{ member: Member; url: string } | null>(null);
  const canChange = me.role === "admin";
  return (
    <section class="team-part" aria-labelledby="team-members">
      <h2 id="team-members">Members</h2>
      <p class="quiet">
        A viewer reads, a reviewer approves, an admin also changes the team and the rules.{" "}
        {!canChange && "Only an admin can change what is here."}
      </p>
      {members.length === 0 && (
        <p>You decide alone. Add the people who shall approve with you, or in your place.</p>
      )}
      <ul class="team-list">
        {members.map((member) => (
          <MemberRow
            key={member.id}
            member={member}
            isMe={member.id === me.id}
            canChange={canChange}
            onChange={onChange}
            onLink={(url) => link.value = { member, url }}
          />
        ))}
      </ul>
      {canChange && <AddMember onChange={onChange} />}
      {link.value && <LinkDialog {...link.value} onClose={() => link.value = null} />}
    </section>
  );
}

interface MemberRowProps {
  member: Member;
  isMe: boolean;
  canChange: boolean;
  onChange: () => void;
  onLink: (url: string) => void;
}

function MemberRow({ member, isMe, canChange, onChange, onLink }: MemberRowProps) {
  const { id, name, role, email } = member;
  const asked = useSignal<"member" | "key" | null>(null);
  const { busy, run } = useWorking(onChange);
  const one = () => api().api.team.members[":id"];
  const key = proof.value?.enrolled.find(({ member_id }) => member_id === id) ?? null;
  const invite = async () => {
    const url = await run(() => createLink(member), null);
    if (url !== null) onLink(url);
  };
  const remove = () =>
    run(() => unwrap(one().$delete({ param: { id } })), `${name} is removed from the team`);
  const removeKey = () => run(() => removeKeyOf(id), `The key of ${name} is removed`);
  return (
    <li class="team-row" aria-label={name}>
      <div class="team-who">
        <p>
          <strong>
            <Text value={name} />
          </strong>{" "}
          <span class="quiet">
            <Text value={id} />
            {isMe && ", you"}
          </span>
        </p>
        {email !== null && (
          <p class="quiet small">
            <Text value={email} />
          </p>
        )}
        <KeyLine enrolled={key} role={role} />
      </div>
      {canChange && asked.value === null && (
        <div class="room-buttons">
          <RoleChoice
            name={name}
            role={role}
            onChange={(next) =>
              void run(
                () => unwrap(one().$patch({ param: { id }, json: { role: next } })),
                `${name} is now ${next === "admin" ? "an" : "a"} ${next}`,
              )}
          />
          <Button icon="key" busy={busy.value} onClick={() => void invite()}>
            Create a login link
          </Button>
          {key?.role && (
            <Button kind="quiet" onClick={() => asked.value = "key"}>Remove the key</Button>
          )}
          <Button kind="danger" icon="trash" onClick={() => asked.value = "member"}>Remove</Button>
        </div>
      )}
      {asked.value !== null && (
        <div class="room-buttons" role="group" aria-label={`Remove ${name}`}>
          <p>
            {asked.value === "key"
              ? "They approve nothing until they set another key with a new link."
              : "Their logins end at once. Their decisions stay in the records."}
          </p>
          <Button
            kind="danger"
            busy={busy.value}
            onClick={() =>
              void (asked.value === "key" ? removeKey() : remove()).then(() => asked.value = null)}
          >
            {asked.value === "key" ? `Remove the key of ${name}` : `Remove ${name}`}
          </Button>
          <Button kind="quiet" onClick={() => asked.value = null}>Back</Button>
        </div>
      )}
    </li>
  );
}

/** The state of a member's own key. */
function KeyLine({ enrolled, role }: { enrolled: EnrolledKey | null; role: Role }) {
  const kind = proof.value?.kind;
  if (kind !== "passphrase" && kind !== "passkey") return null;
  if (enrolled !== null) {
    return (
      <p class="team-key small">
        <Icon name="key" /> {enrolled.kind === "passkey" ? "Passkey" : "Passphrase"}, set{" "}
        <Ago at={enrolled.created_at} said />
      </p>
    );
  }
  if (role === "viewer") return <p class="quiet small">Needs no key, because they only read</p>;
  return (
    <p class="team-key tone-warn small">
      <Icon name="alert" /> No key: they cannot approve before they use a login link
    </p>
  );
}

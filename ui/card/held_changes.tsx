import type { ActionDetail } from "../../server/actions/schema.ts";
import { Code, Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";

type LeftOut = NonNullable<ActionDetail["taken_from"]>["left_out"];

/** The command that made the held changes, or what became of the changes of a command. */
export function HeldChanges({ detail: { taken_from, held_back, signed } }: {
  detail: ActionDetail;
}) {
  const address = useAddress();
  const removed = signed?.folders?.emptied_folders ?? [];
  return (
    <>
      {taken_from && (
        <div class="fact">
          <dt>Changes of</dt>
          <dd>
            <Code value={taken_from.command} />{" "}
            <a href={address.href(`/actions/${taken_from.action_id}`)}>the command</a>
            <p class="quiet">It worked on a copy. The project is still as it was.</p>
          </dd>
        </div>
      )}
      {taken_from && removed.length > 0 && <Removed folders={removed} />}
      {held_back && (
        <div class="fact">
          <dt>Changes</dt>
          <dd>
            {held_back.action_id === null
              ? <Text value={nothing(held_back.why)} />
              : (
                <a href={address.href(`/actions/${held_back.action_id}`)}>
                  {count(held_back.files, "changed file")} held for a person
                </a>
              )}
          </dd>
        </div>
      )}
      <NotTaken left_out={(taken_from ?? held_back)!.left_out} />
    </>
  );
}

function nothing(why: string | null): string {
  return why === null ? "It changed no file of the project." : `Nothing is taken over: ${why}.`;
}

const MOST_SHOWN = 20;

function Removed({ folders }: { folders: readonly string[] }) {
  return (
    <div class="fact">
      <dt>Removes</dt>
      <dd>
        {folders.slice(0, MOST_SHOWN).map((path) => (
          <p key={path}>
            <Code value={path} /> <span class="quiet">if it is empty then</span>
          </p>
        ))}
        <Rest rest={folders.length - MOST_SHOWN} what="more folder" />
      </dd>
    </div>
  );
}

function NotTaken({ left_out: { files, count: all } }: { left_out: LeftOut }) {
  if (all === 0) return null;
  return (
    <div class="fact">
      <dt>Left out</dt>
      <dd>
        {files.slice(0, MOST_SHOWN).map(({ path, why }) => (
          <p key={path}>
            <Code value={path} /> <Text as="span" class="quiet" value={why} />
          </p>
        ))}
        <Rest rest={all - MOST_SHOWN} what="more file" />
      </dd>
    </div>
  );
}

function Rest({ rest, what }: { rest: number; what: string }) {
  return rest > 0 ? <p>{count(rest, what)}</p> : null;
}

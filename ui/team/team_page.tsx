import { useSignal } from "@preact/signals";
import type { ApprovalRoute } from "../../server/approval_routes/schema.ts";
import type { Member, TeamStatus, WaitingList, Whoami } from "../../server/team/schema.ts";
import { Failed, Skeleton } from "../parts/placeholder.tsx";
import { api, explain, unwrap } from "../state/client.ts";
import { useLive } from "../state/live.ts";
import { Members } from "./members.tsx";
import { Routes } from "./routes.tsx";
import { RouteTester } from "./route_tester.tsx";
import { Waiting } from "./waiting.tsx";

/** The team and the routes as the daemon has them. */
interface Loaded {
  members: Member[];
  me: Whoami;
  team: TeamStatus;
  routes: ApprovalRoute[];
  problem: string | null;
  waiting: WaitingList | null;
}

/** The people who approve, their keys, and who of them is asked about which actions. */
export function TeamPage() {
  const loaded = useSignal<Loaded | null>(null);
  const failed = useSignal<string | null>(null);
  const read = async (late?: AbortSignal) => {
    try {
      const found = await load();
      if (late?.aborted) return;
      loaded.value = found;
      failed.value = null;
    } catch (error) {
      if (!late?.aborted) failed.value = explain(error);
    }
  };
  useLive("team", read, ({ type }) => /^(?:member|route|proof)\./.test(type));
  const reread = () => void read();
  const now = loaded.value;
  return (
    <main class="scroll page-scroll">
      <div class="page-head">
        <h1>Routes &amp; team</h1>
      </div>
      {now === null
        ? failed.value === null
          ? <Skeleton lines={8} />
          : <Failed title="The team could not be loaded" problem={failed.value} />
        : (
          <>
            <Waiting
              file="team.json"
              problem={now.team.problem}
              waiting={now.me.role === "admin" ? now.team.waiting : null}
              onAccept={(json) => unwrap(api().api.team.accept.$post({ json }))}
              onChange={reread}
            />
            <Members members={now.members} me={now.me} onChange={reread} />
            <Waiting
              file="approval_routes.json"
              problem={now.problem}
              waiting={now.me.role === "admin" ? now.waiting : null}
              onAccept={(json) => unwrap(api().api["approval-routes"].accept.$post({ json }))}
              onChange={reread}
            />
            <Routes
              routes={now.routes}
              members={now.members}
              canChange={now.me.role === "admin"}
              onChange={reread}
            />
            <RouteTester members={now.members} />
          </>
        )}
    </main>
  );
}

async function load(): Promise<Loaded> {
  const { team, "approval-routes": routes } = api().api;
  const [{ items: members }, me, status, { items, problem, waiting }] = await Promise.all([
    unwrap(team.members.$get()),
    unwrap(team.whoami.$get()),
    unwrap(team.$get()),
    unwrap(routes.$get()),
  ]);
  return { members, me, team: status, routes: items, problem, waiting };
}

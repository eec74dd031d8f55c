import process from "node:process";
import { v7 } from "uuid";
import type { Caller } from "../../../../server/auth/schema.ts";
import { Daemon } from "../../../../server/daemon.ts";
import { createRandom } from "../../../random.ts";

// Agents write, people approve and roll back, until this process is killed. Prints the id of each
// action that was acknowledged as executed.
const [home, root, seed] = process.argv.slice(2) as [string, string, string];
const agent: Caller = { scope: "agent", id: "agent", member_id: null, via: "token", proof: null };
const reviewer: Caller = {
  scope: "reviewer",
  id: "reviewer",
  member_id: "reviewer",
  via: "token",
  proof: null,
};
const random = createRandom(Number(seed));

const daemon = await Daemon.open({
  home,
  now: () => Date.now(),
  id: () => v7(),
  log: () => {},
}, { port: 47995 });
const { id: project_id } = await daemon.projects.register(root, reviewer);
const { actions } = await daemon.projects.get(project_id);
console.log("ready");
await Promise.all(["a", "b", "c", "d"].map(work));

/** Works on files that nobody else touches. */
async function work(name: string): Promise<void> {
  for (let step = 0;; step++) {
    const isHeld = random(4) === 0;
    const path = `${isHeld ? "held" : "free"}/${name}.txt`;
    const input = { path, content: `${seed} ${step}\n`.repeat(1 + random(2_000)) };
    const { action } = await actions.submit({ tool: "write_file", input, wait_ms: 0 }, agent);
    if (isHeld) await actions.approve(action.id, {}, reviewer);
    console.log(action.id);
    if (random(4) > 0) continue;
    const { rollback } = await actions.rollback(action.id, {}, reviewer);
    if (rollback) console.log(rollback.id);
  }
}

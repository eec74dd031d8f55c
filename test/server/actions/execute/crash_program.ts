import process from "node:process";
import { v7 } from "uuid";
import type { Caller } from "../../../../server/auth/schema.ts";
import { Daemon } from "../../../../server/daemon.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

// Opens a daemon on the given folders, starts one operation and kills itself at the given step.
const [home, root, what, at] = process.argv.slice(2) as [string, string, string, string];
const agent: Caller = { scope: "agent", id: "agent", member_id: null, via: "token", proof: null };
const reviewer: Caller = {
  scope: "reviewer",
  id: "reviewer",
  member_id: "reviewer",
  via: "token",
  proof: null,
};

let steps = 0;
let isArmed = false;
const [step, occurrence] = at.split(":");
const daemon = await Daemon.open({
  home,
  now: () => Date.now(),
  id: () => v7(),
  log: () => {},
  fault: (now) => {
    if (isArmed && now === step && ++steps === Number(occurrence)) {
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => {}); // no runtime continues after the kill
    }
  },
}, { port: 47997 });
const { id: project_id } = await daemon.projects.register(root, PERSON);
const { actions } = await daemon.projects.get(project_id);

const submit = async (tool: string, input: Record<string, unknown>) =>
  (await actions.submit({ tool, input }, agent)).action.id;
const write = (path: string) => submit("write_file", { path, content: "v2" });

const OPERATIONS: Record<string, () => Promise<() => Promise<unknown>>> = {
  allowed: () => Promise.resolve(() => write("free/a.txt")),
  created: () => Promise.resolve(() => write("free/new/deep/a.txt")),
  deleted: () => Promise.resolve(() => submit("delete_file", { path: "free/a.txt" })),
  moved: () =>
    Promise.resolve(() => submit("move_file", { from: "free/a.txt", to: "free/b/c.txt" })),
  approved: async () => {
    const id = await write("held/a.txt");
    return () => actions.approve(id, {}, reviewer);
  },
  edited: async () => {
    const id = await write("held/a.txt");
    return () => actions.approveWithEdit(id, { content: "v3" }, reviewer);
  },
  rolled_back: async () => {
    const id = await write("free/a.txt");
    return () => actions.rollback(id, {}, reviewer);
  },
  claimed: async () => {
    const id = await submit("run_command", { command: "echo hi" });
    return async () => {
      await actions.claim(id, {}, agent);
      process.kill(process.pid, "SIGKILL");
    };
  },
};

const operation = await OPERATIONS[what]!();
isArmed = true;
await operation();
console.log("survived");

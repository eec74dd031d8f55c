import process from "node:process";
import { Daemon } from "../../../server/daemon.ts";
import { SetProofInput } from "../../../server/proof/schema.ts";

// Opens a daemon on the given home, enrols the given key and kills itself at the given step.
const [home, root, input, at] = process.argv.slice(2) as [string, string, string, string];
let count = 0;
const daemon = await Daemon.open({
  home,
  now: Date.now,
  id: () => `0199a1b2-0000-7000-8000-${String(++count).padStart(12, "0")}`,
  log: () => {},
  fault(step) {
    if (step === at) process.kill(process.pid, "SIGKILL");
  },
}, { port: 47999 });
const { id } = await daemon.projects.register(root, { id: "reviewer", scope: "reviewer" });
await daemon.projects.get(id);
const caller = { scope: "reviewer", member_id: "reviewer", via: "token", proof: null } as const;
await daemon.proofs.set(caller, SetProofInput.parse(JSON.parse(input)));
console.log("enrolled");

import process from "node:process";
import { testCaller } from "../../helpers.ts";
import { openAgo } from "./old_ledger.ts";

// Drops the old contents of a project and kills itself at the given step.
const [home, root, at] = process.argv.slice(2) as [string, string, string];
const [step, occurrence] = at.split(":");
let steps = 0;
const { project } = await openAgo(home, root, 0, (now) => {
  if (now === step && ++steps === Number(occurrence)) {
    process.kill(process.pid, "SIGKILL");
    return new Promise(() => {}); // no runtime continues after the kill
  }
});
await project.retention.collect({ dry_run: false }, testCaller("reviewer"));
console.log("survived");

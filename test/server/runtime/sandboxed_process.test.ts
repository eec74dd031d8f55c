import { once } from "node:events";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { identify, membersOf } from "../../../server/runtime/processes.ts";
import {
  beginSandboxed,
  endInside,
  leftOf,
  type SandboxStart,
} from "../../../server/runtime/sandboxed_process.ts";

/** A sandbox without a first process: its group holds all of its processes. */
const SANDBOX: SandboxStart = {
  ...{ argv: [], inputs: [], inside: [], waits: null, tells_first: false },
  outer: (last) => ["/bin/sh", "-c", last, "sh"],
  limits: { memory_bytes: 2 ** 30, processes: 100 },
  env: (given) => given,
};

test.skipIf(process.platform === "win32")(
  "the group is looked at although this runtime has not heard of the program's end",
  async () => {
    const words = ["/bin/sh", "-c", "sleep 60 >/dev/null 2>&1 &"];
    const options = { cwd: "/", env: process.env, input: false, joins: false };
    const child = beginSandboxed(words, SANDBOX, options);
    onTestFinished(() => endInside(child));
    const group = child.pid!;
    // The event loop does not turn meanwhile, so no event tells the end.
    while (identify(group) !== null);
    expect(child.exitCode).toBeNull();
    const [sleeping] = membersOf(group);
    expect(leftOf(child)).toEqual(identify(sleeping!));
    await once(child, "exit");
    await endInside(child);
    expect(leftOf(child)).toBeNull();
  },
);

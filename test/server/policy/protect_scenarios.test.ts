import { expect, test } from "vitest";
import { compilePolicy } from "../../../server/policy/evaluate.ts";
import { evaluateCommand } from "./score.ts";

const policy = compilePolicy({
  project: { defaultEffect: "allow" },
  global: null,
  override_global: false,
});
const SAFE = "scenario run --only-requests --target";
const HERE = "--target=http://127.0.0.1:3000";
const AWAY = "--target=http://x.example";

test.each([
  `gate ${SAFE}=http://127.0.0.1:3000`,
  `gate ${SAFE} http://localhost:3000/api`,
  `gate ${SAFE} 'http://[::1]:3000'`,
  `scenario-tool run --only-requests --target http://127.0.0.1:3000`,
  `gate scenario run --output brief --only-requests --insecure ${HERE} -H 'A: b' --bail`,
  "gate scenario validate a.json",
  "gate scenario list --spec a.json",
  "gate scenario --help",
  "echo gate scenario run",
])("%s is for the rules alone", (command) => {
  expect(evaluateCommand(command, policy).decision.effect).toBe("allow");
});

test.each([
  ["it may run programs", "gate scenario run --target http://127.0.0.1:3000"],
  ["from source", "deno run -A /src/gate/cli/main.ts scenario run --target http://127.0.0.1:3000"],
  ["from its bundle", `node dist/node/gate.mjs ${SAFE} http://10.0.0.1`],
  ["under its other name", "scenario-tool run --scenarios a.json --target cli"],
  ["through a shell", "sh -c 'gate scenario run --scenarios a.json --target cli'"],
  ["settings may name a target", "gate scenario run --only-requests --spec openapi.json"],
  ["it runs a program for its help", "gate scenario list --from-help 'rm x'"],
  ["another machine", `gate ${SAFE}=http://10.0.0.1`],
  ["a name that only begins like this machine", `gate ${SAFE} http://127.0.0.1.example`],
  ["a user in the address", `gate ${SAFE} http://127.0.0.1@evil.example`],
  ["the last target counts", `gate ${SAFE}=http://127.0.0.1 --target http://evil.example`],
  ["any target may be the one that counts", `gate ${SAFE} http://x.example --filter=a ${HERE}`],
  ["a target that cannot be known", `gate ${SAFE} "$TARGET"`],
  ["the flag is a filter", `gate scenario run --filter --only-requests ${HERE}`],
  ["what stands before the flag is unknown", `gate scenario run "$X" --only-requests ${HERE}`],
  ["the flag is a header", `gate scenario run -H --only-requests ${HERE}`],
  ["the flag is after the options", `gate scenario run ${HERE} -- --only-requests`],
  ["the target is a filter", `gate scenario run --only-requests --filter ${HERE}`],
  ["a later target is a filter", `gate ${SAFE}=http://x.example --filter ${HERE}`],
  [
    "a target after what only looks like the end",
    `gate ${SAFE}=http://localhost --filter -- ${AWAY}`,
  ],
])("%s: %s is never automatic", (_why, command) => {
  expect(evaluateCommand(command, policy).decision.effect).toBe("ask");
});

import { basename } from "node:path";
import type { Analysis } from "../policy/schema.ts";
import { agentCauses, CODING_AGENTS } from "./coding_agents.ts";
import { callOf, MAX_TEXT, type Row } from "./commands/call.ts";
import { CLOUDS } from "./commands/cloud.ts";
import { anyProgram, INTERPRETERS } from "./commands/code.ts";
import { CONTAINERS } from "./commands/containers.ts";
import { DATABASES } from "./commands/databases.ts";
import { HISTORIES } from "./commands/git.ts";
import { jointCauses } from "./commands/joint.ts";
import { MACHINE } from "./commands/machine.ts";
import { NETWORK } from "./commands/network.ts";
import { PACKAGES } from "./commands/packages.ts";
import { SECRETS_SHOWN } from "./commands/secrets.ts";
import { RUNNERS } from "./commands/tasks.ts";
import type { Cause, RiskFacts } from "./facts.ts";
import { WINDOWS_DELETERS, windowsCauses } from "./windows.ts";

const MAX_CALLS = 200;

/** The causes of risk in the programs of a command, beyond the files that the analysis names. */
export function commandCauses(analysis: Analysis, facts: RiskFacts): Cause[] {
  const calls = analysis.commands.slice(0, MAX_CALLS).map(callOf);
  const command = facts.command?.slice(0, MAX_TEXT) ?? null;
  const context = { calls, facts: { ...facts, command } };
  const causes = calls.flatMap((call) =>
    ROWS.filter(([programs]) => programs.test(call.program)).flatMap(([, of]) => of(call, context))
      .concat(anyProgram(call, context))
  );
  return [...causes, ...jointCauses(analysis, context)];
}

const READERS =
  /^(ls|cat|head|tail|wc|grep|rg|egrep|fgrep|find|fd|tree|pwd|which|type|file|stat|du|df|echo|printf|date|whoami|id|uname|hostname|ps|top|env|sort|uniq|cut|tr|diff|cmp|less|more|jq|basename|dirname|realpath|true|false|test|\[|cd|sleep|seq|nl|column|md5sum|sha256sum)$/;

/** Whether a command only reads, as far as the names of its programs tell. */
export function isHarmless({ commands, writes, deletes, unresolved }: Analysis): boolean {
  return writes.length + deletes.length + unresolved.length === 0 &&
    commands.every(([program = ""]) => READERS.test(basename(program)));
}

const ROWS: readonly Row[] = [
  ...CLOUDS,
  ...DATABASES,
  ...RUNNERS,
  ...HISTORIES,
  ...CONTAINERS,
  ...PACKAGES,
  ...NETWORK,
  ...MACHINE,
  ...INTERPRETERS,
  ...SECRETS_SHOWN,
  [CODING_AGENTS, ({ program, argv }) => agentCauses(program, argv)],
  [WINDOWS_DELETERS, ({ program, text }) => windowsCauses(program, text)],
];

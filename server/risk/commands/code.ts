import { basename } from "node:path";
import type { Cause } from "../facts.ts";
import { asksHelp, type Call, callOf, type Context, has, one, type Row } from "./call.ts";
import { DB_TOOLS, migrationCauses } from "./databases.ts";
import { NETWORK_TARGET } from "./network.ts";
import { taskOfScript } from "./tasks.ts";

/** Programs that run code of their arguments, their input or a file. */
export const INTERPRETERS: readonly Row[] = [
  [
    /^((ba|da|z|k|fi|c|tc)?sh|pwsh|powershell|source|\.|python[\d.]*|pypy\d*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php\d*|lua|rscript|osascript|groovy|julia)$/,
    interpreterCauses,
  ],
];

function interpreterCauses(call: Call, context: Context): Cause[] {
  const { command } = context.facts;
  const { program, argv, words } = call;
  if (asksHelp(call) || has(call, /^-v$/)) return [];
  const isShell = /^((ba|da|z|k|fi|c|tc)?sh|pwsh|powershell|source|\.)$/.test(program);
  if (has(call, /^(-\w*c|-e|-p|-r|--eval|-Command|-EncodedCommand|-enc)$/i)) {
    return isShell ? [] : one("interpreter", `${program} runs code of its arguments`);
  }
  if (/^-(m|-module)$/.test(argv[0] ?? "")) return [];
  if (words.length === 0) {
    return command !== null && /[|<]/.test(command)
      ? /<</.test(command) || isFetched(context)
        ? one("interpreter", `${program} runs a text of the command`)
        : one("unknown_code", `${program} runs what another program hands to it`)
      : [];
  }
  const script = words[0]!;
  if (NETWORK_TARGET.test(script) && /:\/\//.test(script)) {
    return one("foreign_code", `${program} runs code from the network`);
  }
  if (DB_TOOLS.test(basename(script))) {
    return migrationCauses(
      callOf([
        basename(script),
        ...call.argv.slice(argv.findIndex((word) => word.toLowerCase() === script) + 1),
      ]),
      context,
    );
  }
  const task = taskOfScript(script, call, context);
  if (task.length > 0) return task;
  return isShell
    ? one("shell_script", `${program} runs "${script}", whose programs gate does not follow`)
    : one("interpreter", `${program} runs "${script}"`);
}

/** The factor about foreign code says it already. */
function isFetched({ calls }: Context): boolean {
  return calls.some(({ program }) => /^(curl|wget|fetch|iwr|invoke-webrequest)$/.test(program));
}

const SCRIPT_PROGRAM = /^\.{0,2}\/|\.(sh|py|rb|js|ts|pl)$/;

/** A program of the project, which is judged by its name. */
export function anyProgram({ program, argv }: Call, context: Context): Cause[] {
  if (
    !/\.(sh|bash|py|rb|js|ts|pl|ps1)$/.test(program) &&
    !/^(deploy|release|publish|rollout|ship)/.test(program)
  ) return [];
  const call = callOf([program, ...argv]);
  const causes = taskOfScript(program, call, context);
  if (causes.length > 0) return causes;
  return SCRIPT_PROGRAM.test(program) && /\.(sh|bash|ps1)$/.test(program)
    ? one("shell_script", `runs "${program}", whose programs gate does not follow`)
    : one("interpreter", `runs "${program}"`);
}

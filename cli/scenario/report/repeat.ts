import type { Scenario } from "../schema.ts";
import { curlOf, quote, SHORT_BODY } from "./curl.ts";

/** The logins of a run, without their values. */
export interface Logins {
  /** The headers of the run, and of its first identity. */
  login?: readonly string[];
  /** The headers of each identity. */
  identities?: ReadonlyMap<string, readonly string[]>;
}

/** The command line of one request or playbook, with a shell variable for each credential. */
export function repeatOf(
  scenario: Scenario,
  target: string,
  { login = [], identities = new Map() }: Logins,
): string | null {
  if (!scenario.exec) return runOf(scenario, target, identities);
  const { exec, scenario_id } = scenario;
  const isLong = (exec.body ?? "").length > SHORT_BODY;
  const short = isLong ? { ...exec, body: BODY_HERE } : exec;
  const command = curlOf({ ...scenario, exec: short }, target)
    ?.replace(BODY_HERE, `"@$PACK/${scenario_id}/body"`) ?? null;
  if (command === null || exec.mode !== "http" || exec.anonymous) return command;
  const own = new Set(Object.keys(exec.headers ?? {}).map((name) => name.toLowerCase()));
  const added = login.filter((name) => !own.has(name.toLowerCase())).map((name) =>
    `-H "${name}: $${variableOf(name)}" `
  );
  return command.replace("--path-as-is ", () => `--path-as-is ${added.join("")}`);
}

const BODY_HERE = "BODY_IN_THE_PACK";

/** The command line of this tool that runs one playbook again; null where no document is known. */
function runOf(
  { source, title, playbook }: Scenario,
  target: string,
  identities: ReadonlyMap<string, readonly string[]>,
): string | null {
  if (playbook === undefined || typeof source !== "string") return null;
  const logins = [...identities].flatMap(([name, headers]) =>
    headers.map((header) => `--as "${name}=${header}: $${variableOf(`${name}_${header}`)}"`)
  );
  const words = ["scenario-tool run --target", quote(target), "--spec", quote(source), ...logins];
  return [...words, "--driver playbook", "--filter", quote(title)].join(" ");
}

function variableOf(name: string): string {
  return name.replaceAll(/\W/g, "_").toUpperCase();
}

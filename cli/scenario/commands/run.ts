import {
  Command,
  type CommandUnknownOpts,
  Option,
  type OptionValues,
} from "@commander-js/extra-typings";
import { applyConfig } from "../config.ts";
import { CONDITIONS } from "../execute/chaos_conditions.ts";
import { STRATEGIES } from "../execute/race/race.ts";
import { DEPTHS } from "../generate/family.ts";
import type { ScenarioIo } from "../io.ts";
import {
  conditions,
  duration,
  header,
  type Identities,
  identity,
  list,
  oneOf,
  priorities,
  repeated,
  whole,
} from "../options.ts";
import { FORMATS } from "../report/render.ts";
import { REPORT_FORMATS } from "../report/reports.ts";
import { runScenarios } from "../run.ts";

/** `scenario-tool run`: puts scenarios together and, with `--target`, executes them. */
export function createCommand(io: ScenarioIo, exit: (code: number) => void): CommandUnknownOpts {
  const plain = new Command("run")
    .description("print scenarios; with --target, execute them and judge what comes back")
    .option("--target <url>", "base URL to execute against, or cli for command lines");
  return driverOptions(judgeOptions(sendOptions(sourceOptions(plain))))
    .addHelpText("after", CONFIGURED)
    .hook("preAction", (running) => applyConfig(running, io))
    .action(async (options) => exit((await runScenarios(options, io)).exit_code));
}

const CONFIGURED = `
Every option can also stand in scenario-tool.json ({"target": "…", "workers": 8}) or in the environment
(SCENARIO_TARGET, SCENARIO_WORKERS); a flag wins over the environment, the environment over the file.
`;

function sourceOptions<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  const spec = "OpenAPI 3, HAR, Postman or Markdown to generate from: file or target's URL (again)";
  return command
    .option("--scenarios <file>", "scenario file (again for more)", list, [])
    .option("--spec <file>", spec, list, [])
    .option("--from-help <program>", "program whose --help to generate from (again)", repeated, [])
    .option("--depth <depth>", DEPTHS.join(", "), oneOf(DEPTHS), "normal" as const)
    .option("--budget <n>", "at most so many generated scenarios", whole(1, 100_000))
    .option("--filter <regex>", "only scenarios whose id or title matches")
    .option("--priority <list>", "only these priorities", priorities, [])
    .option("--area <list>", "only these confidence areas", list, []);
}

function sendOptions<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .option("--timeout <time>", "for each request or command: 500ms, 10s, 2m", duration, 10_000)
    .option("--workers <n>", "reading requests at once", whole(1, 64), 4)
    .option("--rate-limit <n>", "at most so many requests a second", whole(1, 100_000))
    .option("-H, --header <header>", 'add "Name: value" to every request', header, {})
    .option("--secret <name[=value]>", "fills {{name}} and is never shown (again)", repeated, [])
    .option("--race-strategy <name>", STRATEGIES.join(", "), oneOf(STRATEGIES), "auto" as const)
    .option("--race-rounds <n>", "volleys of a race that has {{uniq}} in it", whole(1, 100))
    .addOption(
      new Option("--chaos [conditions]", "run commands again without HOME, stdin, a known TZ …")
        .preset("all").argParser(conditions(CONDITIONS.map(({ name }) => name))),
    )
    .option("--insecure", "accept any TLS certificate")
    .option("--only-requests", "send requests and nothing else: run no program, write no file")
    .option("--allow-destructive", "send changing requests to another machine too")
    .option("--wait-for-target <time>", "wait so long (30s) for the target to come up", duration);
}

const REPORTS = `also write a report: ${REPORT_FORMATS.join(", ")}=<file>, or github (again)`;

function judgeOptions<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .option("--output <format>", FORMATS.join(", "), oneOf(FORMATS), "text" as const)
    .option("--report <format=file>", REPORTS, repeated, [])
    .option("--repro <folder>", "write how to repeat each failure: run, curl, bytes, race script")
    .option("--bail", "stop after the first failure")
    .option("--confirm <n>", "repeat each failure so often and report the rate", whole(0, 100), 0)
    .option("--baseline <file>", "failures that are accepted for a while")
    .option(
      "--baseline-update",
      "accept what fails now, for 90 days; what has expired is renewed by hand",
    );
}

function driverOptions<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  const kinds = "openai:<model>, anthropic:<model>, command:<path>, playbook, replay:<file>";
  const nobody: Identities = new Map();
  return command
    .option("--driver <driver>", kinds)
    .option("--as <name=header>", "credentials of one identity (again)", identity, nobody)
    .option("--record <file>", "write the driver's moves to a cassette for replay:<file>")
    .option("--max-turns <n>", "of a driver, for one scenario", whole(1, 100), 12)
    .option("--max-requests <n>", "of a driver, for one scenario", whole(1, 1_000), 30)
    .option("--max-tokens <n>", "of a driver, for the run", whole(1, 1_000_000_000), 500_000);
}

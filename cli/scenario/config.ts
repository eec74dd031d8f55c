import { CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Io } from "../io.ts";
import { attempt, CORRECT_IT, ToolError } from "./errors.ts";
import { isObject } from "./json.ts";

/** The settings of a project, in the working directory. */
const FILE = "scenario-tool.json";

/**
 * Sets the options that no flag set: from `SCENARIO_<NAME>` in the environment, else from
 * `scenario-tool.json`. @throws ToolError naming the wrong key
 */
export function applyConfig(command: CommandUnknownOpts, io: Pick<Io, "cwd" | "env">): void {
  const config = readConfig(io.cwd);
  const unknown = Object.keys(config).find((key) =>
    !command.options.some((one) => one.name() === key)
  );
  if (unknown) {
    throw new ToolError(`Cannot use ${FILE}: there is no option "${unknown}"`, {
      next: "scenario-tool run --help lists the options",
    });
  }
  for (const option of command.options) {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) === "cli") continue;
    const variable = `SCENARIO_${option.name().replaceAll("-", "_").toUpperCase()}`;
    const given = io.env[variable];
    if (given) {
      const value = option.isBoolean() ? given !== "0" && given !== "false" : given;
      command.setOptionValueWithSource(name, read(option, value, variable), "env");
    } else if (Object.hasOwn(config, option.name())) {
      const value = config[option.name()];
      command.setOptionValueWithSource(
        name,
        read(option, value, `${FILE}: ${option.name()}`),
        "config",
      );
    }
  }
}

type Option = CommandUnknownOpts["options"][number];

/** Parses a value as the flag would. A list counts as a repeated flag. */
function read(option: Option, value: unknown, from: string): unknown {
  if (option.isBoolean()) {
    if (typeof value === "boolean") return value || undefined;
    throw new ToolError(`Cannot use ${from}: it must be true or false`, { next: CORRECT_IT });
  }
  const texts = (Array.isArray(value) ? value : [value]).map((one) => {
    if (typeof one === "string" || typeof one === "number") return String(one);
    throw new ToolError(`Cannot use ${from}: it must be a string, a number or a list of them`, {
      next: CORRECT_IT,
    });
  });
  try {
    const parse = option.parseArg as ((text: string, previous: unknown) => unknown) | undefined;
    return texts.reduce<unknown>(
      (had, text) => parse ? parse(text, had) : text,
      option.defaultValue,
    );
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new ToolError(`Cannot use ${from}: ${error.message}`, { next: CORRECT_IT, cause: error });
  }
}

function readConfig(cwd: string): Record<string, unknown> {
  const path = join(cwd, FILE);
  if (!existsSync(path)) return {};
  const value = attempt(`read ${FILE}`, CORRECT_IT, () => JSON.parse(readFileSync(path, "utf8")));
  if (isObject(value)) return value;
  throw new ToolError(`Cannot use ${FILE}: it must be an object of options`, { next: CORRECT_IT });
}

import type { z } from "zod";
import { brokenPolicy } from "../policy/compile.ts";
import { compilePolicy } from "../policy/evaluate.ts";
import { combineLayers } from "../policy/layers.ts";
import type { CompiledPolicy, ConfigFault } from "../policy/policy.ts";
import type { Entry } from "./accepted.ts";
import { hashOf } from "./config_text.ts";
import { type Loaded, NOTHING, parseConfig } from "./load.ts";
import { GlobalConfig, ProjectConfig } from "./schema.ts";
import type { Accepted } from "./store.ts";
import type { ConfigState } from "./view.ts";

/** The configs as read at one moment, and the policies that they give. */
export interface Snapshot extends ConfigState {
  /** Changes with every file and with every accepted version. */
  key: string;
  /** The accepted policy, and the one of the files where they differ. */
  layers: CompiledPolicy[];
  compiled: CompiledPolicy;
}

/** The parts of a snapshot. */
export interface Sources {
  key: string;
  files: Snapshot["files"];
  /** The accepted versions of the project's config and of the machine's. */
  entry: Entry;
  machine: Entry;
  /** The project's file is part of gate. */
  is_builtin: boolean;
  /** A person trusts the project's `overrideGlobal`. */
  is_trusted: boolean;
}

/** The snapshot that these files and accepted versions give. */
export function compose({ key, files, entry, machine, is_builtin, is_trusted }: Sources): Snapshot {
  completeText(entry.accepted, files.project);
  const accepted = { project: entry.accepted, global: machine.accepted };
  const gone = {
    project: isGone(files.project, accepted.project),
    global: isGone(files.global, accepted.global),
  };
  const project = gone.project ? parseAccepted(accepted.project!, ProjectConfig) : files.project;
  const global = gone.global ? parseAccepted(accepted.global!, GlobalConfig) : files.global;
  const isOverride = project.value?.overrideGlobal === true;
  const layers = layersOf({
    project,
    global,
    entry,
    machine,
    isTrusted: is_trusted,
    builtin: is_builtin ? files.project : null,
  });
  return {
    key,
    files,
    project,
    global,
    accepted,
    gone,
    layers,
    forged: { project: entry.fault, global: machine.fault },
    override: isOverride ? is_trusted ? "trusted" : "untrusted" : "off",
    compiled: layers.length === 1
      ? layers[0]!
      : combineLayers(layers.map((compiled) => ({ compiled }))),
  };
}

/** The policies of one config: the accepted version, the file, and a text that nobody accepted. */
function layersOf({ project, global, entry, machine, isTrusted, builtin }: {
  project: Loaded<ProjectConfig>;
  global: Loaded<GlobalConfig>;
  entry: Entry;
  machine: Entry;
  isTrusted: boolean;
  builtin: Loaded<ProjectConfig> | null;
}): CompiledPolicy[] {
  const wrong = [project, global].find(({ error }) => error !== null);
  if (wrong) return [broken(wrong.error!, wrong.fault!)];
  const accepted = {
    project: builtin ?? parseAccepted(entry.accepted, ProjectConfig),
    global: parseAccepted(machine.accepted, GlobalConfig),
  };
  const sides = [accepted, { project, global }];
  if (entry.fault !== null || machine.fault !== null) {
    // Nobody accepted this text, so it can only tighten.
    sides.push({
      project: entry.fault !== null
        ? parseAccepted(entry.row.accepted, ProjectConfig)
        : accepted.project,
      global: machine.fault !== null
        ? parseAccepted(machine.row.accepted, GlobalConfig)
        : accepted.global,
    });
  }
  const unique = new Map(sides.map((one) => [`${one.project.text}\0${one.global.text}`, one]));
  return [...unique.values()].map((one) => {
    const wrong = [one.project, one.global].find(({ error }) => error !== null);
    if (wrong) return broken(wrong.error!, wrong.fault!);
    const isOverride = isTrusted && one.project.value?.overrideGlobal === true;
    return compile(one.project.value, one.global.value, isOverride, builtin !== null);
  });
}

/** The accepted text as if it were the file; an unknown text counts as none. */
export function parseAccepted<T>(accepted: Accepted | null, schema: z.ZodType<T>): Loaded<T> {
  const { path = "", text } = accepted ?? {};
  if (!text) return NOTHING;
  return parseConfig(path, text, schema);
}

/** An older release kept only the hash of the accepted text. */
function completeText(accepted: Accepted | null, { text }: Loaded<unknown>): void {
  if (accepted?.text === null && accepted.sha256 === hashOf(text)) accepted.text = text;
}

function isGone({ text, error }: Loaded<unknown>, accepted: Accepted | null): boolean {
  return text === "" && error === null && !!accepted?.text;
}

export function compile(
  project: ProjectConfig | null,
  global: GlobalConfig | null,
  override_global: boolean,
  is_machine = false,
): CompiledPolicy {
  try {
    return compilePolicy({
      project: project?.policies ?? null,
      global: global?.policies ?? null,
      override_global,
      is_machine,
    });
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    return broken(cause, { path: null, line: null, column: null, cause });
  }
}

function broken(error: string, fault: ConfigFault): CompiledPolicy {
  return brokenPolicy(`Everything is denied until the config is fixed: ${error}`, fault);
}

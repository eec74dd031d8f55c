import { applyEdits, modify } from "jsonc-parser";
import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import type { Receiver } from "../config/notifications/schema.ts";
import type { Configs } from "../config/configs.ts";
import { parseConfig } from "../config/load.ts";
import { GlobalConfig, type OutsideChange } from "../config/schema.ts";
import { MACHINE_ID } from "../constants.ts";
import { sha256 } from "../db/chain.ts";
import { GateError } from "../errors.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { writeWhole } from "../runtime/small_file.ts";
import type { ReceiverChange } from "./schema.ts";

/** Adds a receiver to config.json. Nothing is sent to it until a person accepts the change. */
export async function addReceiver(
  configs: Configs,
  receiver: Receiver,
  caller: Caller,
): Promise<ReceiverChange> {
  return await change(configs, caller, {
    verb: "add",
    id: receiver.id,
    edit: (all, attempt) => {
      if (!all.some(({ id }) => id === receiver.id)) return { all: [...all, receiver], receiver };
      throw new GateError("conflict", `${attempt}: the name is taken; choose another one`);
    },
  });
}

/** Replaces a receiver of config.json, as `addReceiver` adds one. @throws GateError `not_found` */
export async function replaceReceiver(
  configs: Configs,
  id: string,
  receiver: Receiver,
  caller: Caller,
): Promise<ReceiverChange> {
  return await change(configs, caller, {
    verb: "change",
    id,
    edit: (all, attempt) => {
      if (receiver.id !== id) {
        const next = "add another receiver and remove this one";
        throw new GateError("invalid", `${attempt}: its name cannot change; ${next}`);
      }
      requireKnown(all, id);
      return { all: all.map((one) => one.id === id ? receiver : one), receiver };
    },
  });
}

/** Removes a receiver from config.json; it gets news until a person accepts the change. */
export async function removeReceiver(
  configs: Configs,
  id: string,
  caller: Caller,
): Promise<ReceiverChange> {
  return await change(configs, caller, {
    verb: "remove",
    id,
    edit: (all) => {
      const receiver = requireKnown(all, id);
      return { all: all.filter((one) => one.id !== id), receiver };
    },
  });
}

/** The receivers as config.json names them, accepted or not, without any secret. */
export function listReceivers(configs: Configs): Receiver[] {
  return configs.readMachine().loaded.value?.notifications?.receivers ?? [];
}

interface Change {
  verb: "add" | "change" | "remove";
  id: string;
  edit: (all: Receiver[], attempt: string) => { all: Receiver[]; receiver: Receiver };
}

async function change(
  configs: Configs,
  caller: Caller,
  { verb, id, edit }: Change,
): Promise<ReceiverChange> {
  const attempt = `Cannot ${verb} receiver "${id.toWellFormed().slice(0, 64)}"`;
  requireReviewer(caller, `${verb} the receiver`, "gate notify");
  const before = configs.readMachine().key;
  if (await waitingChange(configs) !== null) {
    const next = "a person must accept or undo it first; run gate config show";
    throw new GateError("conflict", `${attempt}: an earlier change of config.json waits; ${next}`);
  }
  // Nothing else of the daemon runs between this read and the write.
  const { key, loaded } = configs.readMachine();
  if (key !== before) throw changedMeanwhile(attempt);
  const path = configs.machine_path;
  if (loaded.error !== null) {
    throw new GateError("conflict", `${attempt}: ${loaded.error}; a person must repair the file`);
  }
  const text = loaded.text === "" ? EMPTY : loaded.text;
  const { all, receiver } = edit(loaded.value?.notifications?.receivers ?? [], attempt);
  const after = edited(text, all);
  const parsed = parseConfig(path, after, GlobalConfig);
  if (parsed.error !== null) throw new GateError("invalid", `${attempt}: ${parsed.error}`);
  writeWhole(resolvePath(path).real, after, 0o600);
  const waiting = await waitingChange(configs);
  // The person would accept what another program wrote, or nothing of this change is left.
  const isOurs = configs.readMachine().loaded.text === after;
  if (!isOurs || (waiting && waiting.after_sha256 !== sha256(after))) {
    throw changedMeanwhile(attempt);
  }
  return { receiver, change: waiting };
}

function changedMeanwhile(attempt: string): GateError {
  const next = "look at it with gate config show, then try again";
  const cause = "another program changed config.json at the same time";
  return new GateError("conflict", `${attempt}: ${cause}; ${next}`);
}

const EMPTY = `{\n  "version": "1"\n}\n`;

function edited(text: string, receivers: Receiver[]): string {
  const formattingOptions = { insertSpaces: !/^\t/m.test(text), tabSize: 2, eol: "\n" };
  const edits = modify(text, ["notifications", "receivers"], receivers, { formattingOptions });
  return applyEdits(text, edits);
}

/** The change of config.json of which a part waits for a person; null for none. */
async function waitingChange(configs: Configs): Promise<OutsideChange | null> {
  const { outside_changes } = await configs.of(MACHINE_ID, []).view();
  const own = outside_changes.filter(({ path }) => path === configs.machine_path);
  return own.find(({ waiting, after_sha256 }) => waiting && after_sha256 !== "") ?? null;
}

function requireKnown(all: readonly Receiver[], id: string): Receiver {
  const found = all.find((one) => one.id === id);
  if (found) return found;
  const named = id.toWellFormed().slice(0, 64);
  throw new GateError(
    "not_found",
    `Cannot find receiver "${named}" in config.json`,
    { next: "gate notify list" },
  );
}

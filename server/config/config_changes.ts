import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import { GateError } from "../errors.ts";
import { compilePolicy } from "../policy/evaluate.ts";
import type { Policies } from "../policy/schema.ts";
import type { ProofVerb } from "../proof/schema.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { writeWhole } from "../runtime/small_file.ts";
import type { Accepting } from "./accepted.ts";
import { compareConfigs } from "./compare.ts";
import { etagOf, hashOf, MACHINE, valueOf } from "./config_text.ts";
import { acceptDigest, trustDigest } from "./digests.ts";
import { editPolicies, rejectUnknownKeys } from "./edit_policies.ts";
import { type Acceptance, newestOf } from "./history.ts";
import { loadConfig, parseConfig } from "./load.ts";
import { listOutside } from "./outside.ts";
import type { ProjectFiles } from "./project_files.ts";
import { type AcceptInput, ProjectConfig } from "./schema.ts";
import { isKey } from "./seal.ts";
import { compile } from "./snapshot.ts";
import type { Accepted } from "./store.ts";

/** The author of a policy change, and the version that the author read. */
export interface PoliciesChange {
  caller: Caller;
  /** The `ETag` that the caller read; null accepts any version. */
  if_match: string | null;
}

/** What people accept of a project's config, change in it through gate, and trust. */
export class ConfigChanges {
  readonly #files: ProjectFiles;

  constructor(files: ProjectFiles) {
    this.#files = files;
  }

  /** Accepts a changed file. @throws GateError `forbidden`; `conflict` when it has changed again */
  async accept({ path, sha256, number }: AcceptInput, caller: Caller): Promise<void> {
    const deed = `accept the change of "${path.toWellFormed()}"`;
    requireReviewer(caller, deed, "gate config accept");
    const attempt = `Cannot ${deed}`;
    const snapshot = await this.#files.read();
    const change = (await listOutside(this.#files, snapshot)).find((one) => one.path === path);
    const isSame = change?.after_sha256 === sha256 && change.number === (number ?? change.number);
    if (change === undefined || !isSame) {
      const cause = "the file has changed since";
      const next = "a person must review the new change, then accept it";
      throw new GateError("conflict", `${attempt}: ${cause}; ${next}`);
    }
    const isMachine = path === this.#files.configs.machine_path;
    const { text, ...file } = isMachine ? snapshot.files.global : snapshot.files.project;
    const error = file.error ?? (isMachine ? snapshot.compiled.error : this.#unusable(text));
    if (error !== null) {
      throw new GateError("conflict", `${attempt}: ${error}; a person must repair the file`);
    }
    const owner = isMachine ? MACHINE : this.#files.id;
    const digest = acceptDigest(path, sha256, change.number);
    const proof = await this.#prove(caller, "accept_config", owner, digest);
    await this.#files.configs.accepted.accept(owner, {
      path,
      text,
      by: caller.id,
      proof,
      number: change.number,
      record: (accepted) =>
        this.#files.record({
          session_id: null,
          action_id: null,
          type: "policy.changed",
          actor: { kind: "reviewer", id: caller.id },
          data: { source: "accepted", path, after_sha256: sha256, accepted, ...proof && { proof } },
        }),
    });
    if (isMachine) await this.#files.configs.rememberMachine();
  }

  /**
   * Changes the policies in the project's file. Keeps omitted keys and comments. The new policies
   * are in force on return. @throws GateError `invalid` for an unusable policy, `digest_mismatch`
   * when the file has changed since the caller read it, `conflict` when the file is broken,
   * `proof_required` for a change that may let more happen
   */
  async updatePolicies(policies: Policies, change: PoliciesChange): Promise<void> {
    const { project, global, override, gone, accepted } = await this.#files.read();
    const deed = `change the policies of "${this.#files.id}"`;
    const { caller } = change;
    requireReviewer(caller, deed, null);
    const attempt = `Cannot ${deed}`;
    if (this.#files.builtin !== null) {
      const next = "add rules to the global config: gate global-config";
      throw new GateError("conflict", `${attempt}: no folder holds its config; ${next}`);
    }
    if (project.error !== null) {
      const message = `${attempt}: ${project.error}; a person must repair the file`;
      throw new GateError("conflict", message);
    }
    const etag = etagOf(gone.project ? "" : project.text);
    if (change.if_match !== null && change.if_match !== "*" && change.if_match !== etag) {
      const next = "read the config and send the change with its new etag";
      throw new GateError("digest_mismatch", `${attempt}: the file has changed; ${next}`, {
        fields: { etag },
      });
    }
    rejectUnknownKeys(policies, project.value?.policies ?? {}, attempt);
    const after = this.#edited(project.text, policies, attempt);
    const layers = {
      global: global.value?.policies ?? null,
      override_global: override === "trusted",
    };
    // Compiled before the write, so that an unusable rule never reaches the file.
    const { policies: merged = null } = valueOf(this.#files.id, after) ?? {};
    compilePolicy({ project: merged, ...layers });
    // An unaccepted change in the file stays unaccepted: only the requested keys are accepted.
    const known = accepted.project?.text ?? "";
    const wanted = known === project.text ? after : this.#edited(known, policies, attempt);
    const accepting = await this.#proveEdit(wanted, accepted.project, caller);
    const before_sha256 = gone.project ? null : hashOf(project.text) || null;
    const keys = Object.keys(policies);
    const write = (made: Acceptance | null) =>
      this.#write(after, { keys, caller, before_sha256, made, proof: accepting?.proof ?? null });
    // The file first: a crash leaves a change that waits.
    if (accepting === null) await write(null);
    else await this.#files.configs.accepted.accept(this.#files.id, { ...accepting, record: write });
  }

  /**
   * Accepts the config of a project that is registered for the first time, if this caller may.
   * Otherwise the config tightens at once, and the rest waits.
   */
  async acceptFirst(caller: Pick<Caller, "id" | "scope">): Promise<void> {
    const { accepted } = this.#files.configs;
    const { row } = await accepted.find(this.#files.id);
    const { text, error } = loadConfig(this.#files.path, ProjectConfig);
    const isFirst = row.accepted === null && row.seen === null;
    if (!isFirst || text === "" || error !== null || this.#unusable(text) !== null) return;
    await accepted.see(this.#files.id, text);
    if (caller.scope !== "reviewer" || !await this.#takesTheFirst()) return;
    const number = await accepted.nextNumber(this.#files.id);
    await accepted.accept(this.#files.id, {
      path: this.#files.path,
      text,
      by: caller.id,
      proof: null,
      number,
    });
  }

  /** Whether a config counts as accepted without a proof: no key is enrolled. */
  async #takesTheFirst(): Promise<boolean> {
    const { kind, problem } = await this.#files.configs.services.proofs.status();
    return problem === null && !isKey(kind);
  }

  /** Accepts the config of a project that an older release registered. */
  async acceptKnown(): Promise<void> {
    const { row } = await this.#files.configs.accepted.find(this.#files.id);
    if (row.accepted === null && row.seen === null && this.#files.builtin === null) {
      await this.acceptFirst({ id: "first use", scope: "reviewer" });
    }
  }

  /**
   * Records the newest acceptance of the machine's config in this project's open ledger, if the ledger
   * lacks it: no older one comes back when another ledger is lost.
   */
  async rememberMachine(): Promise<void> {
    if (this.#files.ledger === null) return;
    const found = newestOf(await this.#files.ledger.listPolicyChanges(), MACHINE);
    const accepted = await this.#files.configs.accepted.learn(MACHINE, found);
    if (accepted === null) return;
    await this.#files.record({
      session_id: null,
      action_id: null,
      type: "policy.changed",
      actor: { kind: "system", id: "gate" },
      // Its proof signs the newest event of another ledger, so it is only there.
      data: {
        source: "remembered",
        path: this.#files.configs.machine_path,
        after_sha256: accepted.sha256,
        accepted,
      },
    });
  }

  /** Lets the project's `overrideGlobal` replace the machine's rules. @throws GateError */
  async trustOverride(caller: Caller): Promise<void> {
    const trusts = this.#trustsFor(caller, "trust the override of");
    if (this.#files.builtin !== null) {
      throw new GateError(
        "conflict",
        `Cannot trust "${this.#files.id}": no folder holds its config`,
      );
    }
    if (trusts.has(this.#files.id)) return;
    const digest = trustDigest(this.#files.id);
    const proof = await this.#prove(caller, "trust_override", this.#files.id, digest);
    await trusts.add(this.#files.id, { by: caller.id, proof });
    await this.#recordTrust(true, caller, proof);
  }

  /** Makes the machine's rules apply again. */
  async revokeTrust(caller: Caller): Promise<void> {
    const trusts = this.#trustsFor(caller, "revoke the trust in");
    if (!trusts.has(this.#files.id)) return;
    await trusts.remove(this.#files.id);
    await this.#recordTrust(false, caller, null);
  }

  #trustsFor(caller: Caller, attempt: string) {
    requireReviewer(caller, `${attempt} "${this.#files.id}"`, "gate project trust-override");
    return this.#files.configs.accepted.trusts;
  }

  async #recordTrust(override_global: boolean, caller: Caller, proof: Accepted["proof"]) {
    await this.#files.record({
      session_id: null,
      action_id: null,
      type: "policy.changed",
      actor: { kind: "reviewer", id: caller.id },
      data: { source: "trust", override_global, ...proof && { proof } },
    });
  }

  /** Why the rules of a config cannot be used; null for usable ones. */
  #unusable(text: string): string | null {
    const value = valueOf(this.#files.id, text);
    if (value === null) return "it is not valid";
    return compile(value, null, false).error;
  }

  #edited(text: string, policies: Policies, attempt: string): string {
    const before = text === "" ? newConfig(this.#files.id) : text;
    const value = valueOf(this.#files.id, before) ?? {};
    const after = editPolicies(before, value.policies ?? {}, policies);
    const parsed = parseConfig(this.#files.path, after, ProjectConfig);
    if (parsed.error !== null) throw new GateError("invalid", `${attempt}: ${parsed.error}`);
    return after;
  }

  /** A change that only tightens needs no proof: the version before it keeps its own. */
  async #proveEdit(
    text: string,
    before: Accepted | null,
    caller: Caller,
  ): Promise<Accepting | null> {
    const after = { sha256: hashOf(text), text };
    if (before?.sha256 === after.sha256) return null;
    const old = before === null ? {} : valueOf(this.#files.id, before.text);
    const differences = compareConfigs(old ?? {}, valueOf(this.#files.id, text) ?? {}, [
      (await this.#files.read()).global.value?.policies,
    ]);
    const loosens = differences.some(({ in_force }) => !in_force);
    const path = this.#files.path;
    const number = await this.#files.configs.accepted.nextNumber(this.#files.id);
    const digest = acceptDigest(path, after.sha256, number);
    const proof = loosens
      ? await this.#prove(caller, "change_policies", this.#files.id, digest)
      : null;
    const base = loosens ? null : before;
    // Without a version before, the file itself already holds what tightens.
    if (!loosens && before === null && !await this.#takesTheFirst()) return null;
    return { path, text, by: caller.id, proof, number, base };
  }

  async #prove(caller: Caller, verb: ProofVerb, owner: string, digest: string) {
    return await this.#files.configs.services.proofs.require(caller, {
      verb,
      project_id: owner || null,
      action_id: null,
      digest,
      head: this.#files.ledger?.head() ?? null,
    });
  }

  async #write(
    text: string,
    { keys, caller, before_sha256, made, proof }: {
      keys: string[];
      caller: Caller;
      before_sha256: string | null;
      made: Acceptance | null;
      proof: Accepted["proof"];
    },
  ): Promise<void> {
    const after_sha256 = hashOf(text);
    // An acceptance is recorded even when the file holds its text already.
    if (before_sha256 === after_sha256 && made === null) return;
    if (before_sha256 !== after_sha256) {
      this.#files.ledger?.writes?.(this.#files.path);
      writeWhole(resolvePath(this.#files.path).real, text, 0o644);
      await this.#files.configs.accepted.see(this.#files.id, text);
    }
    await this.#files.record({
      session_id: null,
      action_id: null,
      type: "policy.changed",
      actor: { kind: "reviewer", id: caller.id },
      data: {
        source: "gate",
        path: this.#files.path,
        keys,
        before_sha256,
        after_sha256,
        ...made && { accepted: made },
        ...proof && { proof },
      },
    });
  }
}

function newConfig(id: string): string {
  return `${JSON.stringify({ id, version: "2", policies: {} }, null, 2)}\n`;
}

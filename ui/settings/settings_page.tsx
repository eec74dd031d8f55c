import { Skeleton } from "../parts/placeholder.tsx";
import { proof } from "../state/proof.ts";
import { ProofSettings } from "./proof_settings.tsx";

/** Settings of this machine: how a person proves a decision. */
export function SettingsPage() {
  return (
    <main class="scroll page-scroll">
      <div class="page-head">
        <h1>Settings</h1>
      </div>
      {proof.value === null ? <Skeleton lines={6} /> : <ProofSettings status={proof.value} />}
    </main>
  );
}

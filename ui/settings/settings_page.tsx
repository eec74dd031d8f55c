import { Skeleton } from "../parts/placeholder.tsx";
import { proof } from "../state/proof.ts";
import { DoctorSettings } from "./doctor_settings.tsx";
import { NotificationSettings } from "./notification_settings.tsx";
import { ProofSettings } from "./proof_settings.tsx";
import { RulesSettings } from "./rules_settings.tsx";
import { SandboxSettings } from "./sandbox_settings.tsx";

/** How a person proves a decision, the checks of this machine, and the rules of the selected project. */
export function SettingsPage() {
  return (
    <main class="scroll page-scroll">
      <div class="page-head">
        <h1>Settings</h1>
      </div>
      {proof.value === null ? <Skeleton lines={6} /> : <ProofSettings status={proof.value} />}
      <DoctorSettings />
      <NotificationSettings />
      <RulesSettings />
      <SandboxSettings />
    </main>
  );
}

import { Skeleton } from "../parts/placeholder.tsx";
import { proof } from "../state/proof.ts";
import { NotificationSettings } from "./notification_settings.tsx";
import { ProofSettings } from "./proof_settings.tsx";
import { RulesSettings } from "./rules_settings.tsx";
import { SandboxSettings } from "./sandbox_settings.tsx";

/** How a person proves a decision, and the rules and the sandbox of the selected project. */
export function SettingsPage() {
  return (
    <main class="scroll page-scroll">
      <div class="page-head">
        <h1>Settings</h1>
      </div>
      {proof.value === null ? <Skeleton lines={6} /> : <ProofSettings status={proof.value} />}
      <NotificationSettings />
      <RulesSettings />
      <SandboxSettings />
    </main>
  );
}

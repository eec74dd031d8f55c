/**
 * Controls that the table does not use, by the browser test that does. They need surroundings that a
 * test cannot give to the executable: another user's agents, a sandbox, a passkey, a damaged ledger.
 */
export const ELSEWHERE: Record<string, string[]> = {
  "agents.test.ts": [
    "agents/agents_page: Projects",
    "agents/agents_page: Show all projects",
    "agents/agents_page: key enter",
    "agents/agents_page: key j",
    "agents/agents_page: key k",
    "agents/agents_page: key o",
    "agents/agents_page: key s",
    "agents/history: Agent",

    "agents/orphans: Keep it",
    "agents/orphans: Terminate process …",
    "agents/orphans: Terminating process … | Terminate process …",
    "agents/parts: Show … more characters",

    "agents/session_card: | at least …",
  ],
  "audit.test.ts": ["audit/exports: Stop"],
  "card.test.ts": [
    "approvals/review_pane: Show the queue",
  ],
  "doctor.test.ts": [
    "settings/doctor_settings: <RepairButton>",
    "settings/doctor_settings: Copy",
    "settings/doctor_settings: …",
  ],
  "held_changes.test.ts": [
    "approvals/take_part: <input>",
    "approvals/take_part: Takes over all … | Takes over … of …",
  ],
  "host_tools.test.ts": [
    "approvals/review_pane: key [",
    "approvals/review_pane: key ]",
    "diff/files: <More>",
  ],
  "notifications.test.ts": [
    "settings/notification_settings: <input>",
  ],
  "policy.test.ts": ["policy/tester: … may match: a part of the action is not known"],
  "proof.test.ts": [
    "approvals/decision_bar: <input>",
    "approvals/decision_bar: May change … | May not change git’s hooks",

    "proof/notices: It was me",
    "proof/notices: Set it up",
    "proof/set_form: Use a passkey instead",
    "proof/unlock_dialog: Waiting for your passkey | Use your passkey",
    "team/waiting: Accept the changes of …",
  ],
  "remediation.test.ts": [
    "remediation/advice: Back",

    "remediation/advice: Preview the rollback",
    "remediation/advice: Roll back",
    "remediation/advice: …",
    "remediation/blocks: Show …",

    "remediation/remediation_page: Show …",
  ],
  "sandbox.test.ts": [
    "approvals/decision_bar: Open a wall",
    "approvals/review_pane: key w",

    "approvals/wall_dialog: <input>",
    "approvals/wall_dialog: Add",

    "approvals/wall_dialog: key mod+enter",
    "approvals/wall_dialog: registry.example | ~/data",
    "approvals/wall_dialog: …",
    "settings/sandbox_settings: Close",
  ],
  "sessions.test.ts": ["sessions/session_files: <More>"],
  "witness.test.ts": ["shell/ledgers: I know why"],
};

/** Controls that no browser test uses. Most show more of a list that is on the page already. */
export const NOT_TRIED = [
  "agents/history: Show more sessions",
  "agents/session_card: 1 child process | … child processes …",
  "approvals/first_steps: Copy",
  "approvals/wall_dialog: <TypedField>",
  "approvals/wall_dialog: Open for",
  "policy/suggestions: … turned down",
  "projects/project_list: <More>",
  "proof/notices: I know",
  "remediation/advice: Merge",
  "remediation/advice: Overwrite",
  "remediation/evaluation: <More>",
  "settings/notification_settings: Send again",
  "team/members: Remove the key",
];

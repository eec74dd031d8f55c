/** The weakness that a failure of a family shows (https://cwe.mitre.org); null for other families. */
export function weaknessOf(family: string): string | null {
  return CWE.find(([pattern]) => pattern.test(family))?.[1] ?? null;
}

const CWE: [RegExp, string][] = [
  [/^sql_injection|_quote$/, "CWE-89"],
  [/^foreign_|^existence_leak/, "CWE-639"],
  [/^forged_token|^auth_garbage|^auth_scheme/, "CWE-347"],
  [/^auth_missing/, "CWE-306"],
  [/^admin_only|^method_unlisted|^uneven_rights/, "CWE-285"],
  [/^secrets_shown/, "CWE-200"],
  [/^graph_schema/, "CWE-200"],
  [/^prompt_injection/, "CWE-1427"],
  [/^own_role/, "CWE-269"],
  [/^foreseen_number/, "CWE-340"],
  [/^granted_on_create|^mass_assignment|^privileged_create/, "CWE-915"],
  [/^negative_amount|^zero_amount/, "CWE-839"],
  [/^(login|code)_limit/, "CWE-307"],
  [/^slow_pattern/, "CWE-1333"],
  [/^call_back/, "CWE-918"],
  [/^page_as_picture/, "CWE-434"],
  [/^unknown_recipient/, "CWE-20"],
  [/^user_enumeration/, "CWE-204"],
  [/^double_|^spend_race|^same_key_at_once|^lost_update/, "CWE-362"],
  [/^stale_token/, "CWE-613"],
  [/_traversal$/, "CWE-22"],
  [/_crlf$/, "CWE-113"],
  [/_markup$/, "CWE-79"],
  [/_template$/, "CWE-1336"],
  [/_command$/, "CWE-78"],
  [/^body_deep/, "CWE-674"],
];

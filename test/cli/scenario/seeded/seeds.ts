import type { Bug } from "./shop.ts";

/** The operation and families that reveal each bug. Any other failure is a false alarm. */
const SEEDED: Record<Bug, { operation: string | RegExp; families: RegExp }> = {
  idor_read: { operation: "GET /notes/{id}", families: /^foreign_/ },
  missing_auth: { operation: "GET /reports", families: /^auth_/ },
  forged_token: { operation: /^(GET|PATCH) \/profile$/, families: /^auth_/ },
  mass_assignment: { operation: "PATCH /profile", families: /^mass_assignment$/ },
  type_crash: { operation: "POST /notes", families: /^(field|body)_/ },
  unicode_crash: { operation: "POST /comments", families: /^field_surrogate$/ },
  huge_crash: { operation: "POST /orders", families: /^field_/ },
  negative_crash: { operation: "GET /products", families: /^number_/ },
  lost_update: { operation: "PUT /orders/{id}", families: /^lost_update$/ },
  key_ignored: { operation: "POST /transfers", families: /^same_key_twice$/ },
  stale_token: { operation: "DELETE /sessions/current", families: /^stale_token$/ },
  use_after_delete: { operation: "DELETE /comments/{id}", families: /^use_after_delete$/ },
  page_overlap: { operation: "GET /products", families: /^pagination$/ },
  any_method: { operation: /./, families: /^method_/ },
  any_content_type: { operation: "POST /comments", families: /^body_content_type$/ },
  stack_trace: { operation: "POST /transfers", families: /^(body_|leaking_message$)/ },
  header_injection: { operation: "GET /go", families: /crlf$/ },
  path_traversal: { operation: "GET /files/{name}", families: /traversal$/ },
  pay_race: { operation: "POST /orders/{id}/pay", families: /^double_/ },
  duplicate_user: { operation: "POST /users", families: /^(same_twice|double_submit)$/ },
};

/** True for a failure or finding that reveals the bug. */
export function isAbout(
  { operation, family }: { operation: string; family: string },
  bug: Bug,
): boolean {
  const seeded = SEEDED[bug];
  const here = typeof seeded.operation === "string"
    ? seeded.operation === operation
    : seeded.operation.test(operation);
  return here && seeded.families.test(family);
}

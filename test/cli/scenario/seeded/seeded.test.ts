import { expect, onTestFinished, test } from "vitest";
import { folder, tool } from "../harness.ts";
import { DOCUMENT } from "./document.ts";
import { ROUTES } from "./routes.ts";
import { type Bug, BUGS, openShop } from "./shop.ts";

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
  stack_trace: { operation: "POST /transfers", families: /^body_/ },
  header_injection: { operation: "GET /go", families: /crlf$/ },
  path_traversal: { operation: "GET /files/{name}", families: /traversal$/ },
  pay_race: { operation: "POST /orders/{id}/pay", families: /^double_/ },
  duplicate_user: { operation: "POST /users", families: /^(same_twice|double_submit)$/ },
};

interface Failure {
  operation: string;
  family: string;
  reason: string;
}

/** Runs the tool with the document and two accounts. Returns the failures. */
async function failuresOf(bugs: readonly Bug[]): Promise<Failure[]> {
  const { url, server } = await openShop(bugs, ROUTES);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const cwd = folder({ "openapi.json": DOCUMENT });
  const { stdout } = await tool(
    cwd,
    ...["run", "--target", url, "--spec", "openapi.json", "--output", "json"],
    ...["--as", "alice=Authorization: Bearer token-alice"],
    ...["--as", "bob=Authorization: Bearer token-bob"],
  );
  const { scenarios, executions, summary } = JSON.parse(stdout);
  expect(summary.executed).toBeGreaterThan(300);
  return executions.flatMap((one: { status: string; reason: string }, n: number) => {
    const { operation, family } = scenarios[n];
    return one.status === "failed" ? [{ operation, family, reason: one.reason }] : [];
  });
}

function isAbout({ operation, family }: Failure, bug: Bug): boolean {
  const seeded = SEEDED[bug];
  const here = typeof seeded.operation === "string"
    ? seeded.operation === operation
    : seeded.operation.test(operation);
  return here && seeded.families.test(family);
}

test("the tool finds all 20 seeded bugs, with no false alarm in either shop", async () => {
  const [seeded, guarded] = [await failuresOf(BUGS), await failuresOf([])];
  const found = BUGS.filter((bug) => seeded.some((failure) => isAbout(failure, bug)));
  const missed = BUGS.filter((bug) => !found.includes(bug));
  const stray = seeded.filter((failure) => !BUGS.some((bug) => isAbout(failure, bug)));
  const alarms = [...stray, ...guarded];
  for (const bug of BUGS) {
    const first = seeded.find((failure) => isAbout(failure, bug));
    console.log(
      `${bug.padEnd(18)} ${first ? `found   ${first.family}: ${first.reason}` : "MISSED"}`,
    );
  }
  console.log(
    `found ${found.length} of ${BUGS.length}, missed ${missed.length}, ` +
      `false alarms: ${stray.length} on the seeded shop, ${guarded.length} on the guarded one`,
  );
  for (const { operation, family, reason } of alarms) {
    console.log(`FALSE ${operation} ${family}: ${reason}`);
  }
  expect(missed).toEqual([]);
  expect(alarms.length).toBe(0);
});

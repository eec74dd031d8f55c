import { expect, onTestFinished, test } from "vitest";
import { folder, tool } from "../harness.ts";
import { DOCUMENT } from "./document.ts";
import { ROUTES } from "./routes.ts";
import { isAbout } from "./seeds.ts";
import { type Bug, BUGS, openShop } from "./shop.ts";

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

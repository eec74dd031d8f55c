import { describe, expect, test } from "vitest";
import { ALICE, BOB, LOGINS, serveShop, SHOP } from "./foreign_shop.ts";
import { folder, tool } from "./harness.ts";

async function runShop({ isGuarded }: { isGuarded: boolean }) {
  const { url, requests, shop } = await serveShop({ isGuarded });
  const cwd = folder({ "openapi.json": SHOP });
  const { stdout } = await tool(cwd, "run", "--target", url, "--output", "json", ...LOGINS);
  const names = JSON.parse(stdout).findings.map((one: Record<string, unknown>) =>
    `${one.family} ${one.operation}`
  );
  return { names, requests, shop };
}

describe("a shop that takes its forms in the query", () => {
  test("whose record it is, is found out through paths and references", async () => {
    const { names, requests, shop } = await runShop({ isGuarded: false });
    expect(names).toContain("foreign_value GET /users/{userId}/orders");
    expect(names).toContain("foreign_record POST /users/{userId}/addresses");
    expect(names).toContain("foreign_record GET /users/{userId}/addresses/{addressId}");
    expect(names).toContain("foreign_record DELETE /users/{userId}/addresses/{addressId}");
    expect(names).toContain("foreign_reference POST /users/{userId}/orders");
    expect(names).toContain("own_role PUT /users/{userId}");
    // Each race leaves no money, so another login pays in the second one.
    expect(names).toContain("spend_race POST /pay");
    expect(names).toContain("spend_race POST /gift");
    // The users of the logins are there to the end, and no field went into a body.
    expect([...shop.users.keys()]).toEqual(expect.arrayContaining([ALICE, BOB]));
    const types = requests.flatMap(({ headers }) => headers).filter((one) => /x\.query/.test(one));
    expect(types).toEqual([]);
  });

  test("a guarded one has no finding of another's record, role or money", async () => {
    const { names } = await runShop({ isGuarded: true });
    const wrong = names.filter((one: string) => /^(foreign_|own_role|spend_race)/.test(one));
    expect(wrong).toEqual([]);
  });
});

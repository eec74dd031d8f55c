import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readToken } from "../../server/auth/tokens.ts";
import type { AuditEvent } from "../../server/evidence/schema.ts";
import { createInvitation } from "../../server/proof/invitation.ts";
import { enrol, prove, type Send, withPassphrase } from "../server/proof/person.ts";
import { setPassphrase as setFirst } from "./own_key.ts";
import { headline, settled, Stage, until } from "./stage.ts";

const owner = withPassphrase();
let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open(["my-app"], { proof: "none" });
  expect((await enrol(send, owner)).status).toBe(200);
});
afterEach(async () => {
  expect(stage.complaints).toEqual([]);
  await stage.close();
});

/** Sends with the reviewer's token, as the owner's terminal does. */
const send: Send = async (method, path, body) => {
  const token = await readToken(join(stage.folder, "home"), "reviewer");
  return await fetch(`http://127.0.0.1:${stage.gate.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
  });
};

/** The owner signs a request. */
// deno-lint-ignore no-explicit-any
async function signed(method: string, path: string, body: Record<string, unknown>): Promise<any> {
  const answer = await prove(send, owner, [method, path, body]);
  expect(answer.ok).toBe(true);
  return await answer.json();
}

/** Opens the login link of a member in a browser of their own. */
async function logIn(id: string): Promise<Page> {
  const { seed, public_key: invitation } = await createInvitation();
  const path = `/api/team/members/${id}/login-code`;
  const login = await signed("POST", path, { role: "reviewer", invitation });
  const page = await stage.stranger();
  await page.goto(`${stage.gate.url}${login.path}&invitation=${seed}`);
  await page.getByText(`port ${stage.gate.port}`).waitFor();
  expect(page.url()).not.toContain(seed);
  return page;
}

const setPassphrase = (page: Page, passphrase: string) =>
  setFirst(page, passphrase, "Set a key of your own");

const onDisk = () => existsSync(join(stage.folder, "my-app", "src/both.ts"));

async function votes(): Promise<AuditEvent[]> {
  const { events } = await stage.api("GET", "/api/audit/export?format=json");
  return events.filter(({ type }: AuditEvent) => type === "vote.cast");
}

test("two members set passphrases of their own by their links and reach a quorum of two", async () => {
  for (const name of ["Ann", "Ben"]) await signed("POST", "/api/team/members", { name });
  const two = { name: "Two", approvers: { members: ["ann", "ben"] }, quorum: 2 };
  await signed("POST", "/api/approval-routes", two);
  const ann = await logIn("ann");
  await setPassphrase(ann, "the first of two passphrases");
  const ben = await logIn("ben");
  await setPassphrase(ben, "the second of two passphrases");
  const action = await stage.hold("both.ts", "one\n");

  await headline(ann, "Write 1 line to src/both.ts");
  await settled(ann);
  await ann.keyboard.press("a");
  await until("Ann has voted", async () => (await votes()).length === 1);
  expect(onDisk()).toBe(false);

  await headline(ben, "Write 1 line to src/both.ts");
  await settled(ben);
  await ben.keyboard.press("a");
  await until("the file is written", onDisk);
  const cast = await votes();
  expect(cast.map(({ actor }) => actor.id)).toEqual(["ann", "ben"]);
  const { enrolled } = await stage.api("GET", "/api/proof");
  const keys = enrolled.map(({ member_id }: { member_id: string }) => member_id);
  expect(keys).toEqual(["reviewer", "ann", "ben"]);
  expect(cast[0]!.data.proof).toMatchObject({ key_id: enrolled[1].key_id });
  expect((await stage.detail(action.id)).decided_by).toBe("ben");
  expect(await stage.api("GET", "/api/audit/verify")).toMatchObject({ ok: true, problem: null });

  // A reload forgets the key of the passphrase; the page asks the member and nobody else.
  await ann.reload();
  await ann.getByRole("button", { name: "Locked: unlock" }).waitFor();
  await ann.goto(`${stage.gate.url}/settings`);
  await ann.getByText("As a reviewer: approve, roll back, lift blocks").first().waitFor();
});

test("a member who came with a plain link is told that they cannot approve", async () => {
  await signed("POST", "/api/team/members", { name: "Ann" });
  const { path } = await signed("POST", "/api/team/members/ann/login-code", {});
  const page = await stage.stranger();
  await page.goto(`${stage.gate.url}${path}`);
  await page.getByRole("link", { name: "You have no key" }).click();
  await page.getByText("Ask an admin for a new login link").waitFor();
  expect(await page.getByRole("button", { name: "Set a passphrase or a passkey" }).count()).toBe(0);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Action } from "../../../server/actions/schema.ts";
import { CASES } from "../policy/score.ts";
import { HOUR, openStage, type Stage } from "./stage.ts";

/** The number is small because each run opens a gate. A failure prints its seed. */
const RUNS = { numRuns: 12 };

const command = fc.constantFrom(
  ...CASES.map((one) => one.command).filter((text) =>
    text.length < 200 && !text.includes("{PORT}")
  ),
  "npm publish",
  "npm publish --tag next",
  "npm publish --tag a ./pkg",
  "cd docs && npm publish",
  "git push origin main",
  "git push --force origin main",
  "sudo npm publish",
  "npm publish && git push origin main",
);
const path = fc.constantFrom(
  "a.md",
  "docs/a.md",
  "docs/b.md",
  "docs/deep/c.md",
  "src/a.ts",
  "src/auth/b.ts",
  ".git/config",
  ".vscode/x",
  "gate.config.json",
  ".env",
);
const asked = fc.oneof(
  command.map((text) => ({ tool: "run_command", input: { command: text } })),
  path.map((name) => ({ tool: "write_file", input: { path: name, content: "x" } })),
);
const POLICIES = {
  defaultEffect: "ask" as const,
  askPaths: ["src/auth/**"],
  blockedPaths: [".env"],
  blockedCommands: ["rm -rf", "git push --force"],
  allowedCommands: ["ls"],
};
const STRICTNESS = { approved: 0, pending: 1, blocked: 2 } as Record<string, number>;
type Asked = { tool: string; input: Record<string, string> };

/** Remembers an action by the widest offered pattern. Returns null when no grant is possible. */
async function rememberOnce(stage: Stage, { tool, input }: Asked, max_uses: number) {
  const action = await stage.submit(tool, input);
  if (action.status !== "pending") return null;
  const { body } = await stage.call<{ offers: { pattern: string | null }[] }>(
    "POST",
    "/api/grants/preview",
    { action_id: action.id },
  );
  const offer = body.offers.at(-1);
  if (!offer) {
    expect((await stage.approve(action.id, HOUR)).status).toBe(400);
    await stage.call("POST", `/api/actions/${action.id}/reject`, {});
    return null;
  }
  const { pattern } = offer;
  return await stage.remember(action, { ...HOUR, max_uses, ...pattern && { pattern } });
}

/** The same submission; a write gets the new content, which makes it another action. */
function again({ tool, input }: Asked, content: string): Asked {
  return { tool, input: tool === "write_file" ? { ...input, content } : input };
}

test("a grant never allows a blocked action or one that no grant can answer", async () => {
  const plain = await openStage({ policies: POLICIES });
  const stage = await openStage({ policies: POLICIES });
  await fc.assert(
    fc.asyncProperty(
      asked,
      fc.array(asked, { minLength: 4, maxLength: 8 }),
      async (one, others) => {
        await rememberOnce(stage, one, 50);
        for (const { tool, input } of others) {
          const without = await plain.submit(tool, input);
          const granted = await stage.submit(tool, input);
          const [a, b] = [STRICTNESS[without.status] ?? 0, STRICTNESS[granted.status] ?? 0];
          if (without.status === "blocked") expect(granted.status).toBe("blocked");
          if (granted.status === "approved" && without.status === "pending") {
            expect(granted.decision.grant_id ?? granted.decided_by).not.toBe("policy");
            expect(without.decision.rule?.source).not.toBe("builtin");
          }
          expect(b).toBeLessThanOrEqual(a);
        }
      },
    ),
    RUNS,
  );
});

test("a revoked, expired or used-up grant allows nothing", async () => {
  const how = fc.constantFrom("revoked", "expired", "used up");
  await fc.assert(
    fc.asyncProperty(asked, how, async (one, end) => {
      const stage = await openStage({ policies: POLICIES });
      const grant = await rememberOnce(stage, one, 1);
      if (grant) {
        if (end === "expired") stage.gate.clock.advance(3_600_000);
        else if (end === "revoked") await stage.call("DELETE", `/api/grants/${grant.id}`);
        else {
          const used = again(one, grant.pattern === null ? "x" : "y");
          await stage.finish(await stage.submit(used.tool, used.input));
        }
        const last = again(one, "last");
        expect((await stage.submit(last.tool, last.input)).status).toBe("pending");
        expect((await stage.list())[0]!.uses).toBe(end === "used up" ? 1 : 0);
      }
      await stage.gate.close();
    }),
    RUNS,
  );
});

test("a grant without a pattern allows only its own digest", async () => {
  await fc.assert(
    fc.asyncProperty(
      asked,
      fc.array(asked, { minLength: 8, maxLength: 16 }),
      async (one, others) => {
        const stage = await openStage({ policies: POLICIES });
        const first = await stage.submit(one.tool, one.input);
        const answer = first.status === "pending" ? await stage.approve(first.id, HOUR) : null;
        if (answer?.status === 200) {
          await stage.finish(first);
          for (const { tool, input } of [one, ...others]) {
            const next = await stage.submit(tool, input);
            if (next.decision.grant_id) expect(next.digest).toBe(first.digest);
            if (next.digest !== first.digest) expect(next.decision.grant_id).toBeUndefined();
          }
        }
        await stage.gate.close();
      },
    ),
    RUNS,
  );
});

const name = fc.constantFrom("a", "b", "A", "a.ts", "b.ts", "a.md", "[x]", "a b", ".git", ".env");
const anyPath = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));

/** A second, independent definition of an offered pattern. */
function isMeant(pattern: string, path: string, root: string): boolean {
  const plain = pattern.replaceAll("\\", "");
  if (plain.startsWith("/")) return `${root}/${path}` === plain || path.startsWith(`${plain}/`);
  if (plain.endsWith("/**")) return path.startsWith(plain.slice(0, -2));
  const [folder, ending] = plain.split("/*.");
  if (ending === undefined) return path === plain || path.startsWith(`${plain}/`);
  const [file = ""] = path.startsWith(`${folder}/`)
    ? path.slice(folder!.length + 1).split("/")
    : [];
  return file.endsWith(`.${ending}`);
}

test("a grant with a path pattern allows only paths that match the pattern", async () => {
  const stage = await openStage({ policies: { defaultEffect: "ask" } });
  const { root } = stage.gate;
  let allowed = 0;
  let content = 0;
  await fc.assert(
    fc.asyncProperty(
      anyPath,
      fc.nat(3),
      fc.array(anyPath, { maxLength: 6 }),
      async (one, at, all) => {
        const first = await stage.write(one, `${++content}`);
        if (first.status !== "pending") return;
        const { body } = await stage.call<{ offers?: { pattern: string | null }[] }>(
          "POST",
          "/api/grants/preview",
          { action_id: first.id },
        );
        const patterns = (body.offers ?? []).map(({ pattern }) => pattern).filter((p) =>
          p !== null
        );
        const pattern = patterns[at % patterns.length];
        if (pattern === undefined) return;
        const answer = await stage.approve(first.id, { ...HOUR, max_uses: 100, pattern });
        if (answer.status !== 200) return;
        for (const path of [one, ...all]) {
          // A write to a path that is now a folder fails.
          const { decision } = await stage.write(path, `${++content}`) as Partial<Action>;
          if (decision?.grant_id === undefined) continue;
          expect(isMeant(pattern, path, root), `${path} by ${pattern}`).toBe(true);
          expect(path).not.toMatch(/(^|\/)\.git(\/|$)/);
          allowed++;
        }
        const [grant] = await stage.list("?limit=1");
        await stage.call("DELETE", `/api/grants/${grant!.id}`);
      },
    ),
    { numRuns: 60 },
  );
  expect(allowed).toBeGreaterThan(0);
});

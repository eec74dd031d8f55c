import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import type { Policies } from "../../../server/policy/schema.ts";
import { createTestGate } from "../../helpers.ts";

const BLOCK = (...blockedPaths: string[]): Policies => ({ defaultEffect: "allow", blockedPaths });
const ALL = BLOCK();
const ENV = BLOCK(".env");

/** Policy, path, whether it may be written without a person. */
const CASES: [string, Policies, string, "allow" | "stop"][] = [
  ["full-width letters", ENV, "．ｅｎｖ", "stop"],
  ["a long s folds to s", BLOCK("secrets/**"), "ſecrets/a", "stop"],
  ["a Kelvin sign folds to k", BLOCK("keys/**"), "\u212Aeys/a", "stop"],
  ["a ligature folds to two letters", BLOCK("office/**"), "o\uFB03ce/a", "stop"],
  ["sharp s folds to ss", BLOCK("strasse.txt"), "stra\u00DFe.txt", "stop"],
  ["a dotless i looks the same", BLOCK("id.txt"), "ıd.txt", "stop"],
  ["a dotted capital I is another letter", BLOCK("i.txt"), "\u0130.txt", "allow"],
  ["composed against decomposed", BLOCK("caf\u00E9/**"), "cafe\u0301/a", "stop"],
  ["decomposed pattern, composed path", BLOCK("cafe\u0301/**"), "CAF\u00C9/a", "stop"],
  ["marks in another order", BLOCK("a\u0323\u0307"), "a\u0307\u0323", "stop"],
  ["a Cyrillic e looks the same", ENV, ".\u0435nv", "stop"],
  ["a zero-width joiner", ENV, ".e\u200Dnv", "stop"],
  ["a soft hyphen", ENV, ".e\u00ADnv", "stop"],
  ["a variation selector", ENV, ".env\uFE0F", "stop"],
  ["HFS ignores it", ENV, ".e\u200Cnv", "stop"],
  ["final sigma", BLOCK("οδος"), "ΟΔΟΣ", "stop"],
  ["trailing dot", ENV, ".env.", "stop"],
  ["trailing blank", ENV, ".env ", "stop"],
  ["trailing dots and blanks", ENV, ".env. . ", "stop"],
  ["a dot behind a folder", BLOCK("secrets/**"), "secrets./key", "stop"],
  ["a stream", ENV, ".env::$DATA", "stop"],
  ["a named stream", ENV, ".env:x", "stop"],
  ["a stream of a folder", BLOCK("secrets/**"), "secrets::$INDEX_ALLOCATION/key", "stop"],
  ["a short name of .git", ALL, "GIT~1/hooks/pre-commit", "stop"],
  ["a tilde in an ordinary name", ALL, "notes~1.txt", "allow"],
  ["a backup of an editor", ALL, "a.ts~", "allow"],
  ["a colon in an ordinary name", ALL, "10:30.txt", "allow"],
  ["a device of Windows", ALL, "aux.txt", "allow"],
  ["up and back in", ALL, "src/../src/a.ts", "allow"],
  ["up through a link", ALL, "link_out/../x.txt", "stop"],
  ["up through a link inside", ALL, "link_in/../x.txt", "allow"],
  ["the root by its parent", ALL, "../project/a.txt", "allow"],
  ["beside the root", ALL, "../project-evil/a.txt", "stop"],
  ["through the process", ALL, "/proc/self/cwd/../../../../tmp/x", "stop"],
  ["through the process's root", ALL, "/proc/self/root/etc/x", "stop"],
  ["through a descriptor", ALL, "/proc/self/fd/0", "stop"],
  ["through /dev/fd", ALL, "/dev/fd/1", "stop"],
  ["through a thread", ALL, "/proc/thread-self/cwd/x", "stop"],
  ["the variables of a process", ALL, "/proc/1/environ", "stop"],
  ["the memory of a process", ALL, "/proc/self/task/1/mem", "stop"],
  ["a link to the process", ALL, "proc/cwd/x", "stop"],
  ["a link of a link out", ALL, "twice/a.txt", "stop"],
  ["a link to a blocked file", ENV, "innocent.txt", "stop"],
  ["a link to the config", ALL, "cfg.json", "stop"],
  ["a link below a blocked folder, from outside", BLOCK("secrets/**"), "pub/key", "stop"],
  ["the config in capitals", ALL, "Gate.Config.JSON", "stop"],
  ["the config behind a dot", ALL, "./././gate.config.json", "stop"],
  ["the config in a folder below", ALL, "sub/gate.config.json", "stop"],
  ["hooks of a nested repository", ALL, "vendor/x/.git/hooks/pre-commit", "stop"],
  ["hooks of a submodule", ALL, ".git/modules/x/hooks/pre-push", "stop"],
  ["git's config in capitals", ALL, ".GIT/config", "stop"],
  ["a worktree's config", ALL, ".git/config.worktree", "stop"],
  ["git's attributes", ALL, ".git/info/attributes", "stop"],
  ["hooks of git's folder under another name", ALL, "bare/hooks/post-commit", "stop"],
  ["its config", ALL, "bare/config", "stop"],
  ["beside such a folder", ALL, "bare.txt", "allow"],
  ["a link to its hooks", ALL, "hooked/post-commit", "stop"],
  ["the file that makes a folder one of git's", ALL, "src/HEAD", "stop"],
  ["in other letters", ALL, "src/Head", "stop"],
  ["a name that only begins so", ALL, "src/Head.tsx", "allow"],
  ["a folder of such a name", ALL, "Head/index.ts", "allow"],
  ["a host's settings", ALL, ".cursor/mcp.json", "stop"],
  ["a task of an editor", ALL, ".vscode/tasks.json", "stop"],
  ["percent signs are characters", ENV, "%2eenv", "allow"],
  ["a backslash", ALL, "..\\..\\x", "stop"],
  ["a drive", ALL, "C:\\x", "stop"],
  ["a share", ALL, "//server/share/x", "stop"],
  [
    "a negated entry does not open",
    BLOCK("secrets/**", "!secrets/public/**"),
    "secrets/public/a",
    "stop",
  ],
  ["a negated class", BLOCK("logs/[!a-c]*"), "logs/d.txt", "stop"],
  ["a negated class, other side", BLOCK("logs/[!a-c]*"), "logs/b.txt", "allow"],
  ["a class with a bracket", BLOCK("x[]]y"), "x]y", "stop"],
  ["alternatives", BLOCK("**/*.{pem,key}"), "a/b/c.KEY", "stop"],
  ["nested alternatives", BLOCK("{a,b/{c,d}}/x"), "b/d/x", "stop"],
  ["an escaped star", BLOCK("a\\*b"), "a*b", "stop"],
  ["an escaped star is no star", BLOCK("a\\*b"), "axb", "allow"],
  ["two stars in the middle", BLOCK("a/**/z"), "a/z", "stop"],
  ["two stars deep", BLOCK("a/**/z"), "a/b/c/d/z", "stop"],
  ["stars within a name", BLOCK("a/b**c/z"), "a/bxxc/z", "stop"],
  ["a question mark and an astral letter", BLOCK("a?.txt"), "a😀.txt", "stop"],
  ["a second root", ALL, "../second/a.txt", "stop"],
  ["dots without meaning", ALL, ".../a.txt", "allow"],
  ["a newline", ALL, "a\nb", "stop"],
  ["a blank in front", ENV, " .env", "allow"],
  ["a name of 255", ALL, "a".repeat(255), "allow"],
  ["a name of 256", ALL, "a".repeat(256), "stop"],
];

const setting = async (policies: Policies) => {
  const gate = await createTestGate({ policies, files: { "src/a.ts": "a", ".env": "S" } });
  const base = dirname(gate.root);
  for (const folder of ["outside", "second", "project-evil", "project/secrets"]) {
    mkdirSync(join(base, folder), { recursive: true });
  }
  writeFileSync(join(base, "outside/victim.txt"), "S");
  const link = (to: string, name: string) => symlinkSync(to, join(gate.root, name));
  for (const folder of ["bare/objects", "bare/refs", "bare/hooks"]) {
    mkdirSync(join(gate.root, folder), { recursive: true });
  }
  writeFileSync(join(gate.root, "bare/HEAD"), "ref: refs/heads/main\n");
  link("bare/hooks", "hooked");
  link("../outside", "link_out");
  link("src", "link_in");
  link("/proc/self", "proc");
  link("link_out", "twice");
  link(".env", "innocent.txt");
  link("gate.config.json", "cfg.json");
  link("secrets", "pub");
  return gate;
};

// Windows takes some of these names for others, or for none.
test.skipIf(process.platform === "win32").each(CASES)(
  "%s",
  async (_why, policies, path, expected) => {
    const gate = await setting(policies);
    const tested = await gate.request("POST", "/api/policy/test", { path, action: "write" });
    const said = tested.status === 200 ? (await tested.json()).effect : "refused";
    const input = { path, content: "new" };
    const answer = await gate.request(
      "POST",
      "/api/actions",
      { tool: "write_file", input },
      "agent",
    );
    expect(answer.status).toBeLessThan(500);
    const action = await answer.json();
    const written = action?.execution === "succeeded";
    expect({ said: said === "allow", written }).toEqual({
      said: expected === "allow",
      written: expected === "allow",
    });
    if (expected === "allow") expect(existsSync(join(gate.root, path))).toBe(true);
  },
);

test("each root is judged by its own names, and what lies between them is outside", async () => {
  const gate = await createTestGate({ policies: BLOCK("only/here.txt") });
  const second = join(dirname(gate.root), "second");
  mkdirSync(second);
  gate.project.setRoots([gate.root, second]);
  const effectOf = async (path: string) => {
    const answer = await gate.request("POST", "/api/policy/test", { path, action: "write" });
    return (await answer.json()).effect;
  };
  expect(await effectOf(join(second, "a.txt"))).toBe("allow");
  expect(await effectOf(join(second, "only/here.txt"))).toBe("deny");
  expect(await effectOf(join(second, "ONLY/../only/Here.txt"))).toBe("deny");
  expect(await effectOf(join(second, "../project/a.txt"))).toBe("allow");
  expect(await effectOf(join(second, "../a.txt"))).toBe("deny");
  expect(await effectOf(join(second, "gate.config.json"))).toBe("ask");
});

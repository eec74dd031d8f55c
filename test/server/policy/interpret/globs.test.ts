import { expect, test } from "vitest";
import { BRACKET, DEEP, QUESTION, STAR } from "../../../../server/policy/holes.ts";
import { filesOf } from "../../../../server/policy/interpret/globs.ts";
import { createTestGate } from "../../../helpers.ts";

const DISK: Record<string, string[]> = {
  "/p": ["a.md", "B.MD", ".env", "src", "b.txt"],
  "/p/src": ["one.ts", "two.ts", ".hidden.ts"],
};
const list = (folder: string) =>
  (DISK[folder] ?? []).map((name) => ({ name, kind: "file" as const }));

test.each([
  [`/p/${STAR}.md`, ["/p/a.md", "/p/B.MD"]],
  [`/p/${STAR}`, ["/p/a.md", "/p/B.MD", "/p/src", "/p/b.txt"]],
  [`/p/.${STAR}`, ["/p/.env"]],
  [`/p/.${STAR}/b.txt`, ["/p/./b.txt", "/p/../b.txt", "/p/.env/b.txt"]],
  [`/p/.${BRACKET}/b.txt`, ["/p/../b.txt"]],
  [`/p/${QUESTION}.txt`, ["/p/b.txt"]],
  [`/p/${STAR}/${STAR}.ts`, ["/p/src/one.ts", "/p/src/two.ts"]],
  [`/p/s${STAR}c/t${STAR}o.ts`, ["/p/src/two.ts"]],
  [`/p/${STAR}a${STAR}`, ["/p/a.md"]],
  [`/none/${STAR}`, []],
  [`/p/${STAR}${STAR}/x`, null],
  [`/p/${BRACKET}.${BRACKET}D`, ["/p/a.md", "/p/B.MD"]],
  [`/p/${BRACKET}env`, []],
  [`/p/${DEEP}`, null],
])("a glob finds the files that exist: %s", (path, files) => {
  expect(filesOf(path, list)).toEqual(files);
});

test("a reader takes the folder and the one above it", () => {
  expect(filesOf(`/p/.${STAR}`, list, { reads: true })).toEqual(["/p/.", "/p/..", "/p/.env"]);
  expect(filesOf(`/p/${STAR}.md`, list, { reads: true })).toEqual(["/p/a.md", "/p/B.MD"]);
});

test("a folder that cannot be read, and too many files, are not certain", () => {
  expect(filesOf(`/p/${STAR}`, () => null)).toBeNull();
  const many = Array.from({ length: 401 }, (_, i) => ({ name: `f${i}`, kind: "file" as const }));
  expect(filesOf(`/p/${STAR}`, () => many)).toBeNull();
});

test("a command with a glob is held only for files that are there", async () => {
  const gate = await createTestGate({
    policies: { defaultEffect: "allow", blockedPaths: ["*.pem", ".env", "secrets/**"] },
    files: { "docs/a.md": "a", "keys/tls.pem": "k", ".env": "S=1", "secrets/key": "k" },
  });
  const effectOf = async (command: string) => {
    const body = { command, action: "command" };
    const answer = await gate.request("POST", "/api/policy/test", body, "agent");
    return (await answer.json()).effect;
  };
  expect(await effectOf("cat docs/*.md")).toBe("allow");
  expect(await effectOf("wc -l docs/*")).toBe("allow");
  expect(await effectOf("cat *.md")).toBe("allow");
  expect(await effectOf("cat keys/*")).toBe("deny");
  expect(await effectOf("cat k*/t*")).toBe("deny");
  expect(await effectOf("cat .e*")).toBe("deny");
  expect(await effectOf("cat S*/K*")).toBe("deny");
  expect(await effectOf("cat .[e]nv")).not.toBe("allow");
  expect(await effectOf("shopt -s dotglob; cat *")).not.toBe("allow");
});

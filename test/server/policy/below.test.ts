import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EVERYTHING, nameOf, pathOf, searchBelow } from "../../../server/policy/below.ts";
import type { Action } from "../../../server/actions/schema.ts";
import { createTestGate } from "../../helpers.ts";

const POLICIES = {
  defaultEffect: "allow" as const,
  blockedPaths: [".env", "secrets/**"],
  askPaths: ["*.key"],
};

const SECRET = "s3cret-value";
const FILES = {
  "README.md": "TOP",
  "src/a.ts": "TOP a",
  "src/deep/b.ts": "TOP b",
  "secrets/key": `TOP ${SECRET}`,
  ".env": `TOP=${SECRET}`,
  "keys/tls.key": `TOP ${SECRET}`,
  "packages/x/.env": `TOP ${SECRET}`,
  "packages/x/deep/secrets/c.ts": "TOP c",
};

const ALL = "--exclude-dir=secrets --exclude=.env --exclude=tls.key";

/** The command, its effect, and a part of the alternative that the agent is given. */
const CASES: [command: string, effect: "allow" | "ask" | "deny", alternative?: string][] = [
  ["grep -r TOP .", "deny", "--exclude=.env --exclude-dir=secrets --exclude=tls.key"],
  ["grep -r TOP", "deny", "--exclude-dir=secrets"],
  ["grep --recursive TOP ./", "deny"],
  ["grep -d recurse TOP .", "deny"],
  ["cd src && grep -r TOP ..", "deny"],
  ["grep -rn TOP src", "allow"],
  ["grep -rn TOP src packages/x/deep", "allow"],
  ["grep -rn TOP keys", "ask", "--exclude=tls.key"],
  ["grep TOP README.md", "allow"],
  ["docker run -v .:/w image ls", "ask"],
  ["docker run -it --rm -v $PWD:/w:ro image ls", "ask"],
  ["docker run --mount type=bind,source=packages,target=/w image ls", "ask"],
  ["docker run --mount type=bind,src=.env,dst=/w image ls", "deny"],
  ["docker compose run -v ./secrets:/w image", "deny"],
  ["docker run -v ./src:/w image ls", "allow"],
  ["docker run -v data:/w --mount source=data,target=/x image ls", "allow"],
  ["docker build .", "ask"],
  ["docker build -t x -f Dockerfile packages", "ask"],
  ["docker buildx build --build-context more=packages src", "ask"],
  ["docker build src", "allow"],
  ["docker run image ls packages", "allow"],
  ["podman build ./packages", "ask"],
  ["kubectl create configmap x --from-file=.", "ask"],
  ["kubectl create secret generic x --from-file=key=packages/x", "ask"],
  ["kubectl create configmap x --from-file=src", "allow"],
  ["kubectl exec pod -- ls packages", "allow"],
  ["ansible all -m copy -a 'src=packages dest=/x'", "ask"],
  ["ansible all -m copy -a 'src=.env dest=/x'", "deny"],
  ["aws s3 sync . s3://bucket", "deny"],
  ["aws s3 cp src s3://bucket --recursive", "allow"],
  ["rclone copy packages remote:x", "deny"],
  ["frob .", "ask"],
  ["frob --dir=packages", "ask"],
  ["frob src", "allow"],
  ["docker run -v ./.git/hooks:/w image ls", "ask"],
  ["docker run -v /var/run/docker.sock:/s image ls", "ask"],
  ["zgrep -R TOP README.md", "deny"],
  ["zgrep -r TOP -", "deny"],
  ["zgrep TOP README.md", "allow"],
  ["zstd -r .", "deny"],
  ["zstd -r src", "allow"],
  ["7z a x.7z .", "ask"],
  ["7z l x.7z", "allow"],
  ["ruby -run -e httpd .", "deny"],
  [`grep -r ${ALL} TOP .`, "allow"],
  [`grep -r TOP . ${ALL}`, "allow"],
  ["grep -r --include='*.ts' TOP .", "allow"],
  ["grep -r --include='*.ts' --include=.env TOP .", "deny"],
  [`grep -r ${ALL} --include='*' TOP .`, "ask"],
  ["grep -r --exclude-dir=secret TOP .", "deny"],
  ["grep -r TOP src/*", "allow"],
  ["grep -r TOP pack*", "deny"],
  ["rg TOP", "deny", "-g '!secrets'"],
  ["rg TOP src", "allow"],
  ["rg -g '!secrets' -g '!*.key' TOP", "allow"],
  ["rg -g '!secrets/**' -g '!keys/' TOP", "allow"],
  ["rg -g '!secrets' -g '!*.key' --hidden TOP", "deny", "-g '!.env'"],
  ["rg -uu -g '!secrets' -g '!*.key' TOP", "ask"],
  ["rg -g '!secrets' -g 'key' TOP", "ask"],
  ["rg -g '*.ts' TOP", "allow"],
  ["rg -g '.env' TOP", "ask"],
  ["rg --files", "allow"],
  ["cat README.md | rg TOP", "allow"],
  ["git grep --no-index TOP", "ask", "':!secrets'"],
  ["find . -type f", "allow"],
  ["find . -type f -exec cat {} +", "deny", "-not -path './secrets/*'"],
  ["find . -not -path './secrets/*' -not -name .env -not -name '*.key' -exec cat {} +", "allow"],
  ["find . -name '*.ts' -exec cat {} +", "allow"],
  ["find . -name '*.ts' | xargs cat", "allow"],
  ["find . -iname '*ENV' -exec cat {} +", "ask"],
  ["find . -name '*env' -exec cat {} +", "deny"],
  ["find . -name 'x' -o -name '*.ts' -exec cat {} +", "ask"],
  ["find . -maxdepth 1 -name '*.md' -exec cat {} +", "allow"],
  // An excluded path counts only as the program itself reads it.
  [`grep -r ${ALL.replace("exclude=.env", "exclude='**/.env'")} TOP .`, "ask"],
  [`grep -r ${ALL.replace("=secrets", "='**/secrets'")} TOP .`, "ask"],
  ["grep -r --exclude-dir='**/*' --exclude='**/*' TOP .", "ask"],
  ["find . -not -path 'secrets/*' -not -name .env -not -name '*.key' -exec cat {} +", "ask"],
  ["find . -not -path ./secrets -not -name .env -not -name '*.key' -exec cat {} +", "deny"],
  ["find . -not -path './secrets/' -not -name .env -not -name '*.key' -exec cat {} +", "ask"],
  ["find $PWD/packages -not -path './packages/x/.env' -exec cat {} +", "ask"],
  [
    "find packages -not -path 'packages/x/.env' -not -path 'packages/x/deep/*' -exec cat {} +",
    "allow",
  ],
  ["find packages . -not -path 'packages/x/.env' -exec cat {} +", "ask"],
  ["find . -not -path './secrets/*' ! ! -name .env -exec cat {} +", "ask"],
  ["find . -not -path './secrets/*' -printf -not -name .env -exec cat {} +", "ask"],
  ["find . -name nope -print -o -type f -exec cat {} +", "ask"],
  ["find . -name nope -exec true {} \\; -o -type f -exec cat {} +", "ask"],
  ["find . -name nope -exec true {} \\; , -type f -exec cat {} +", "ask"],
  ["find . -name nope -ls -o -type f -exec cat {} +", "ask"],
  ["find . -maxdepth 1 -not -name .env -type f -exec cat {} + -maxdepth 5", "ask"],
  ["rg -uu -g '!/secrets' -g '!.env' -g '!*.key' TOP packages/..", "ask"],
  ["tar -c --anchored --exclude=secrets --exclude=.env --exclude='*.key' .", "ask"],
  ["tar -c --no-wildcards --exclude=secrets --exclude='.en*' --exclude=tls.key .", "ask"],
  ["tar -c --exclude='secrets/' --exclude=.env --exclude='*.key' .", "ask"],
  ["find . -type f | xargs cat", "ask"],
  ["find src | xargs cat 2>/dev/null", "allow"],
  ["for f in $(find src -name '*.ts'); do cat $f; done", "allow"],
  ["find . -type f | xargs ls -la", "allow"],
  ["tar cf - .", "deny", "--exclude=secrets"],
  ["tar -c --exclude=secrets --exclude=.env --exclude='*.key' .", "allow"],
  ["tar -c . --exclude=secrets --exclude=.env --exclude='*.key'", "ask"],
  ["tar -c -C packages x", "deny"],
  ["tar cf - src", "allow"],
  ["cp -r . ../x", "deny"],
  ["cp -r secrets/.. ../x", "deny"],
  ["cp -a packages copied", "deny"],
  ["cp -r src copied", "allow"],
  ["mv packages moved", "deny"],
  ["mv src moved", "allow"],
  ["diff -r . src", "deny", "--exclude=secrets"],
  ["diff -rq . src", "allow"],
  ["zip -r a.zip .", "deny", "-x '.env' -x 'secrets/*'"],
  ["zip -r a.zip src", "allow"],
  ["rsync -a packages copied", "deny", "--exclude=.env"],
  ["rsync -a --exclude=.env packages copied", "allow"],
  ["ls -R .", "allow"],
  ["ls -la .env secrets", "allow"],
  ["du -a .", "allow"],
  ["stat .env", "allow"],
  ["wc -l src/*", "allow"],
  ["wc -l secrets/*", "deny"],
  ["wc --files0-from=.env", "deny"],
];

/** They print nothing by themselves, or change the folder. */
const SILENT = /^(cp|mv|zip|rsync)\b/;

test("a program that reads a folder is held for a forbidden file below it", async () => {
  const gate = await createTestGate({ policies: POLICIES, files: FILES });
  const printed: string[] = [];
  const wrong: unknown[] = [];
  for (const [command, effect, alternative] of CASES) {
    const body = { tool: "run_command", input: { command } };
    const answer = await gate.request("POST", "/api/actions", body, "agent");
    const { decision } = await answer.json() as Action;
    const fits = alternative === undefined || decision.alternative?.includes(alternative);
    if (decision.effect !== effect || !fits) {
      wrong.push([command, decision.effect, decision.alternative]);
    }
    if (decision.effect !== "allow" || SILENT.test(command)) continue;
    const { stdout } = spawnSync("bash", ["-c", command], { cwd: gate.root, input: "" });
    if (stdout.includes(SECRET)) printed.push(command);
  }
  expect(wrong).toEqual([]);
  expect(printed).toEqual([]);
});

test("a folder with more files than gate looks at is held, with the largest part named", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  for (let folder = 0; folder < 1_001; folder++) {
    mkdirSync(join(gate.root, `node_modules/p${folder}`), { recursive: true });
  }
  const test = async (command: string) => {
    const body = { command, action: "command" };
    return await (await gate.request("POST", "/api/policy/test", body, "agent")).json();
  };
  expect(await test("grep -r TOP .")).toMatchObject({
    effect: "ask",
    alternative: "Name the folders to read, or add --exclude-dir=node_modules",
  });
  expect((await test("grep -r --exclude-dir=node_modules TOP .")).effect).toBe("allow");
  expect((await test("rg TOP")).effect).toBe("ask");
  mkdirSync(join(gate.root, ".git"), { recursive: true });
  gate.write(".gitignore", "node_modules\n");
  expect((await test("rg TOP")).effect).toBe("allow");
  expect((await test("rg --no-ignore TOP")).effect).toBe("ask");
  gate.write(".ignore", "!node_modules\n");
  expect((await test("rg TOP")).effect).toBe("ask");
});

test("a link below the folder counts only for programs that follow links", async () => {
  const gate = await createTestGate({ policies: POLICIES, files: FILES });
  symlinkSync("../secrets", join(gate.root, "src/other"));
  const effectOf = async (command: string) => {
    const body = { command, action: "command" };
    return (await (await gate.request("POST", "/api/policy/test", body, "agent")).json()).effect;
  };
  expect(await effectOf("grep -r TOP src")).toBe("allow");
  expect(await effectOf("grep -R TOP src")).toBe("deny");
  expect(await effectOf("rg TOP src")).toBe("allow");
  expect(await effectOf("rg -L TOP src")).toBe("deny");
  expect(await effectOf("find -L src -name key -exec cat {} +")).toBe("deny");
});

test("names that a program prints lead through links and fall apart at blanks", async () => {
  const gate = await createTestGate({ policies: POLICIES, files: FILES });
  gate.write("docs/a b/c.md", "x");
  symlinkSync("../.env", join(gate.root, "src/l.txt"));
  const effectOf = async (command: string) => {
    const body = { command, action: "command" };
    return (await (await gate.request("POST", "/api/policy/test", body, "agent")).json()).effect;
  };
  const wrong: unknown[] = [];
  for (
    const [command, effect] of [
      ["find src -name '*.txt' -exec cat {} +", "deny"],
      ["find src -name '*.txt' | xargs cat", "ask"],
      ["find src -print0 | xargs -0 cat", "ask"],
      ["find src | xargs grep x", "ask"],
      ["find src -type f -exec cat {} +", "allow"],
      ["find src -not -type f -exec cat {} +", "ask"],
      ["find src -name '*.ts' | xargs cat", "allow"],
      ["find docs | xargs cat", "ask"],
      ["find docs -type f | xargs cat", "ask"],
      ["cat $(find docs)", "ask"],
      ["ls docs/* | xargs cat", "ask"],
      ["find docs -print0 | xargs -0 cat", "allow"],
      ["find docs -type f -exec cat {} +", "allow"],
      ["cp -r src out; cat out/l.txt", "deny"],
      ["mv src/l.txt src/m.txt && cat src/m.txt", "deny"],
      ["cp -r src/deep out; cat out/b.ts", "allow"],
    ] as const
  ) {
    const found = await effectOf(command);
    if (found !== effect) wrong.push([command, found]);
  }
  expect(wrong).toEqual([]);
});

test.each(["src/.ignore", ".gitignore"])(
  "a pipe named %s does not hold the daemon",
  async (name) => {
    const gate = await createTestGate({ policies: POLICIES, files: FILES });
    spawnSync("git", ["init", "-q"], { cwd: gate.root });
    spawnSync("mkfifo", [join(gate.root, name)]);
    for (const command of ["rg TOP src", "git grep TOP src"]) {
      const body = { action: "command", command };
      const answer = await gate.request("POST", "/api/policy/test", body, "reviewer");
      expect((await answer.json()).effect).toBe("allow");
    }
  },
);

test.each([".ignore", ".rgignore", ".gitignore"])(
  "hidden files count for rg once %s takes a name back",
  async (list) => {
    const gate = await createTestGate({ policies: POLICIES, files: FILES });
    const test = async (command: string) => {
      const body = { command, action: "command" };
      return (await (await gate.request("POST", "/api/policy/test", body, "agent")).json()).effect;
    };
    gate.write(`packages/${list}`, "dist\n");
    expect(await test("rg TOP packages/x -g '!secrets'")).toBe("allow");
    gate.write(`packages/${list}`, "dist\n!.env\n");
    expect(await test("rg TOP packages/x -g '!secrets'")).toBe("deny");
    expect(await test("rg TOP packages -g '!secrets'")).toBe("deny");
    expect(await test("rg TOP src")).toBe("allow");
    expect(await test(`echo '!x' > keys/${list}; rg TOP packages/x -g '!secrets'`)).toBe("deny");
    gate.write(`packages/${list}`, "dist\n");
    const writing = `printf '!.env\\n' > packages/x/${list}; rg -g '!secrets' TOP packages/x`;
    expect(await test(writing)).toBe("deny");
    mkdirSync(join(gate.root, ".git"), { recursive: true });
    gate.write(".gitignore", ".env\n");
    gate.write(`packages/${list}`, "");
    expect(await test(writing)).toBe("deny");
  },
);

test("links that lead back to their folder end", () => {
  const facts = (path: string) => ({ lexical: path, real: path.replaceAll("/back", "") || "/" });
  const found = searchBelow(facts("/p"), {
    below: { ...EVERYTHING, links: true },
    cwd: "/p",
    list: () => [{ name: "back", kind: "link" }, { name: "a", kind: "file" }],
    resolve: facts,
    ignored: [],
    takesBack: () => false,
    isForbidden: ({ lexical }) => lexical.endsWith("/a"),
  });
  expect(found).toMatchObject([{ relative: "a" }]);
});

test.each([
  [nameOf("secrets"), { glob: "secrets", kind: "any", is_path: false }],
  [nameOf("**/secrets/"), { glob: "secrets", kind: "folder", is_path: false }],
  [nameOf("*.key", "file"), { glob: "*.key", kind: "file", is_path: false }],
  [nameOf("a/b"), null],
  [nameOf("[ab]"), null],
  [nameOf(""), null],
  [pathOf("./secrets/*"), { glob: "secrets", kind: "any", is_path: true }],
  [pathOf("/secrets/**"), { glob: "secrets", kind: "any", is_path: true }],
  [pathOf("../secrets/*"), null],
  [pathOf("se*/x"), null],
])("the pattern %#", (pattern, expected) => {
  expect(pattern).toEqual(expected);
});

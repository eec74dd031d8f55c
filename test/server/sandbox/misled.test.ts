import { execFileSync } from "node:child_process";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createStage, ENGINE } from "./stage.ts";

const FILES = {
  "home/user/project/.env": "SECRET=project\n",
  "home/user/project/objects/.env": "SECRET=objects\n",
  "home/user/project/src/main.txt": "main\n",
  "home/user/.cargo/bin/tool": "tool\n",
};

describe.runIf(ENGINE !== null)("a hidden file stays hidden", () => {
  test("when a command makes its folder look like one of git's", async () => {
    const { run } = createStage(FILES);
    await run("mkdir -p objects refs src/objects src/refs; touch HEAD commondir src/HEAD");
    const { output } = await run("cat .env objects/.env; ls src");
    expect(output).not.toContain("SECRET");
    expect(output).toContain("cat: .env: Permission denied");
    expect(output).toContain("main.txt");
  });

  test("when its name is a link that leads to a folder of tools", async () => {
    const { run, root, home } = createStage({
      ...FILES,
      "home/user/.cargo/own.txt": "SECRET=cargo\n",
    });
    symlinkSync(join(home, ".cargo/own.txt"), join(root, "x.pem"));
    symlinkSync("/dev/null", join(root, "y.pem"));
    const { output } = await run("cat x.pem ~/.cargo/own.txt ~/.cargo/bin/tool; echo one > y.pem");
    expect(output).not.toContain("SECRET");
    expect(output).toContain("tool\n");
    expect(output.match(/Permission denied/g)).toHaveLength(2);
  });

  test.each([
    ["a file", "echo SECRET >\"$(printf 'key\\377.pem')\""],
    ["a folder", "mkdir \"$(printf 'folder\\377')\""],
  ])("when %s has a name that is no text: then there is no sandbox", async (_, make) => {
    const { walls, root } = createStage(FILES);
    execFileSync("/bin/sh", ["-c", make], { cwd: root });
    await expect(walls("true")).rejects.toThrow(/has bytes that are no text/);
  });

  test("while other names that are no text do no harm", async () => {
    const { run, root } = createStage(FILES);
    execFileSync("/bin/sh", ["-c", "echo x >\"$(printf 'photo\\377.jpg')\""], { cwd: root });
    writeFileSync(join(root, "photo\uFFFD.pem"), "SECRET=text\n");
    const { output } = await run("ls | wc -l; cat photo*.pem");
    expect(output).toMatch(/^4\n/);
    expect(output).not.toContain("SECRET");
  });
});

describe.runIf(ENGINE !== null)("a text that names files below /tmp", () => {
  test("brings none of the home, of gate's data or of another project into the sandbox", async () => {
    const { run, home, base, gate_home, write } = createStage(FILES);
    write("home/user/.gate/tokens/agent", "SECRET=token\n");
    write("home/user/notes.txt", "SECRET=notes\n");
    write("other/x.txt", "SECRET=other\n");
    const named = [`${gate_home}/tokens/agent`, `${home}/notes.txt`, `${base}/other/x.txt`];
    const { output } = await run(`grep -rs SECRET /tmp; true # ${named.join(" ")}`, {
      walls: { strangers: [join(base, "other")] },
    });
    expect(output).not.toContain("SECRET");
  });
});

describe.runIf(ENGINE !== null)("a folder that commands may write", () => {
  test.each([
    ["in another such folder", "data/out", "~/data/out"],
    ["in the project", "project/build", "~/project/build"],
  ])("opens nothing once a command %s made it a link", async (_, folder, named) => {
    const { run, home } = createStage({
      ...FILES,
      [`home/user/${folder}/x`]: "",
      "home/user/bin/tool": "tool\n",
      "home/user/data/y": "",
    });
    const walls = { writable: ["~/data", named] };
    const kept = await run(`echo made > ~/${folder}/made; cat ~/${folder}/made`, { walls });
    expect(kept.output).toBe("made\n");
    await run(`rm -r ~/${folder} && ln -s ~/bin ~/${folder}`, { walls });
    await run(`echo planted > ~/${folder}/git; echo planted > ~/bin/git`, { walls });
    expect(readdirSync(join(home, "bin"))).toEqual(["tool"]);
  });

  test("may be a link that a person has made", async () => {
    const { run, home } = createStage({ ...FILES, "home/user/disk/x": "" });
    symlinkSync(join(home, "disk"), join(home, "data"));
    await run(`echo made > ${home}/disk/made`, { walls: { writable: ["~/data"] } });
    expect(readdirSync(join(home, "disk"))).toEqual(["made", "x"]);
  });
});

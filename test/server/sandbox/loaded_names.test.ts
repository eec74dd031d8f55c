import { lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isProtectedName } from "../../../server/policy/protect.ts";
import { policyTemplate } from "../../../server/policy/templates.ts";
import { engineOnce } from "../../../server/sandbox/engine.ts";
import { isLoaded, linkedFromHome } from "../../../server/sandbox/loaded_names.ts";
import { createTestGate } from "../../helpers.ts";
import { connect } from "./agent.ts";
import { createStage, ENGINE } from "./stage.ts";

test.each([
  ...[".zshrc", ".bash_profile", ".nvim.lua", ".dir-locals.el", "team.code-workspace"],
  ...["mise.toml", ".mise.local.toml", ".Rprofile", ".gdbinit", ".hg/hgrc", ".github/hooks"],
  ...[".Renviron", ".octaverc", "crush.json", ".aider.conf.yml", ".kiro", "sub/.continue"],
  ...[".config/mise", ".jj/repo/config.toml", "sub/.helix", ".agents"],
  ...[".roo", ".kilocode", ".amazonq", ".junie", ".augment", ".openhands", ".amp", "sub/.pi"],
  ...["mise/config.toml", ".sl/config", ".pijul/config"],
])("a program of a person loads %s by itself", (name) => {
  expect(isLoaded(`/home/user/project/${name}`)).toBe(true);
});

test.each(["zshrc", "hgrc", "mise", "src/hooks", "repo/config.toml", "Makefile", "promise.toml"])(
  "none loads %s",
  (name) => {
    expect(isLoaded(`/home/user/project/${name}`)).toBe(false);
  },
);

test("gate protects a container's settings in the project's own folder", () => {
  expect(isProtectedName(".devcontainer.json")).toBe(true);
});

test.each(["lefthook.yml", "lefthook-local.yml", ".lefthook-local.toml", "lefthook.json"])(
  "gate protects %s, from which git's hooks come",
  (name) => {
    expect(isProtectedName(name)).toBe(true);
  },
);

/** A project of dotfiles: links in the home lead to it, one of them by a second link in it. */
function createDotfiles() {
  const stage = createStage({
    "home/user/project/shell/zsh": "own\n",
    "home/user/project/nvim/init.lua": "own\n",
    "home/user/project/tools/deploy": "own\n",
    "home/user/project/src/a.txt": "own\n",
  });
  const at = (path: string) => join(stage.home, path);
  for (const folder of [".config", ".local/bin"]) mkdirSync(at(folder), { recursive: true });
  symlinkSync("shell/zsh", at("project/zshrc"));
  symlinkSync("project/zshrc", at(".zshrc"));
  symlinkSync("../project/nvim", at(".config/nvim"));
  symlinkSync(at("project/tools/deploy"), at(".local/bin/deploy"));
  symlinkSync("nowhere", at(".lost"));
  symlinkSync("project", at(".whole"));
  return { ...stage, at };
}

test("each step of a link in the home into a project is found, and the project itself is not", () => {
  const { home, root, at } = createDotfiles();
  expect(linkedFromHome(home, [root]).sort()).toEqual(
    ["project/nvim", "project/shell/zsh", "project/tools/deploy", "project/zshrc"].map(at),
  );
});

describe.runIf(ENGINE !== null)("in a sandbox", () => {
  test("what links in the home lead to stays as it is, and the rest can be written", async () => {
    const { run, at } = createDotfiles();
    const { output } = await run(
      "for f in zshrc shell/zsh nvim/init.lua nvim/new.lua tools/deploy src/a.txt; do " +
        "(echo planted > $f) 2>&1; done; mv nvim n 2>&1; rm -f shell/zsh 2>&1; true",
    );
    for (const path of ["shell/zsh", "nvim/init.lua", "tools/deploy"]) {
      expect(readFileSync(at(`project/${path}`), "utf8")).toBe("own\n");
    }
    expect(readFileSync(at("project/src/a.txt"), "utf8")).toBe("planted\n");
    expect(output.match(/Read-only file system/g)!.length).toBeGreaterThanOrEqual(5);
  });

  test("files that programs load by themselves are moved away, and replaced links put back", async () => {
    const gate = await createTestGate({
      policies: policyTemplate("balanced"),
      files: { "src/a.txt": "a", "config/tasks.json": "own" },
      sandbox: engineOnce(),
    });
    const at = (path: string) => join(gate.root, path);
    mkdirSync(at("sub"));
    symlinkSync("../config", at("sub/.vscode"));
    const run = await connect(gate);
    const done = await run(
      `python3 - <<'PY'
import os
e = 'e' + 'xrc'
open('sub/.' + e, 'w').write('planted')
v = 'sub/.vs' + 'code'
os.unlink(v); os.makedirs(v); open(v + '/tasks.json', 'w').write('planted')
PY`,
      { wait_ms: 15_000 },
    );
    expect(done).toMatchObject({ execution: "succeeded", decision: { sandbox: {} } });
    expect(lstatSync(at("sub/.exrc"), { throwIfNoEntry: false })).toBeUndefined();
    expect(readlinkSync(at("sub/.vscode"))).toBe("../config");
    expect(readFileSync(at("sub/.vscode/tasks.json"), "utf8")).toBe("own");
  });
});

import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, expect, test } from "vitest";
import {
  type Detected,
  detectProject,
  type Hints,
  type Undetected,
  workspacesIn,
} from "../../../server/projects/detect.ts";
import type { HubProject } from "../../../server/projects/schema.ts";
import { createTempFolder } from "../../temp_folder.ts";

// home/ is the user's; alpha and its worktree are registered, beta only has a config, and
// alpha/packages/inner has a config of its own inside alpha.
const home = createTempFolder("detect");
const at = (...parts: string[]) => join(home, ...parts);

beforeAll(async () => {
  for (const folder of ["alpha/src/deep", "alpha/packages/inner/src", "beta/src", "plain/sub"]) {
    await mkdir(at(folder), { recursive: true });
  }
  await mkdir(at("alpha-tree/src"), { recursive: true });
  await mkdir(at("mono/app"), { recursive: true });
  for (const folder of ["mono/app", "alpha", "alpha-tree", "beta", "alpha/packages/inner", "."]) {
    await writeFile(at(folder, "gate.config.json"), "{}");
  }
  await symlink(at("alpha"), at("link"));
});

interface Row {
  name: string;
  hints: (base: Hints) => Partial<Hints>;
  expected: () => Partial<Detected> | { reason: RegExp };
  registers?: string;
}

const found = (project_id: string, folder: string, rule: string) => () => ({
  project_id,
  root: at(folder),
  rule,
});
const roots = (...folders: string[]) => folders.map((folder) => pathToFileURL(at(folder)).href);

const ROWS: Row[] = [
  {
    name: "the folder it was started in",
    hints: () => ({ cwd: at("alpha/src/deep") }),
    expected: found("alpha", "alpha", "cwd"),
  },
  {
    name: "a folder reached by a link",
    hints: () => ({ cwd: at("link/src") }),
    expected: found("alpha", "alpha", "cwd"),
  },
  {
    name: "a second root of the project",
    hints: () => ({ cwd: at("alpha-tree/src") }),
    expected: found("alpha", "alpha-tree", "cwd"),
  },
  {
    name: "CLAUDE_PROJECT_DIR before the folder",
    hints: () => ({ cwd: at("beta"), claude_project_dir: at("alpha/src") }),
    expected: found("alpha", "alpha", "claude_project_dir"),
  },
  {
    name: "a relative CLAUDE_PROJECT_DIR says nothing",
    hints: () => ({ cwd: at("alpha"), claude_project_dir: "beta" }),
    expected: found("alpha", "alpha", "cwd"),
  },
  {
    name: "the only root before CLAUDE_PROJECT_DIR",
    hints: () => ({ roots: roots("alpha"), claude_project_dir: at("beta") }),
    expected: found("alpha", "alpha", "mcp_root"),
  },
  {
    name: "two roots say nothing",
    hints: () => ({ roots: roots("beta", "plain"), cwd: at("alpha") }),
    expected: found("alpha", "alpha", "cwd"),
  },
  {
    name: "roots that are no folders say nothing",
    hints: () => ({ roots: ["https://example.org/", "file://host/x", "::"], cwd: at("alpha") }),
    expected: found("alpha", "alpha", "cwd"),
  },
  {
    name: "Codex's workspace before roots",
    hints: () => ({ workspaces: [at("alpha")], roots: roots("beta") }),
    expected: found("alpha", "alpha", "codex_workspace"),
  },
  {
    name: "an argument that is an id before everything",
    hints: () => ({ argument: "alpha", workspaces: [at("beta")], cwd: at("beta") }),
    expected: () => ({ ...found("alpha", "alpha", "argument")(), home_project: "machine" }),
  },
  {
    name: "an id of a project with several roots means the one the host works in",
    hints: () => ({ argument: "alpha", cwd: at("alpha-tree/src") }),
    expected: found("alpha", "alpha-tree", "argument"),
  },
  {
    name: "an argument that is a folder of a registered project",
    hints: () => ({ argument: at("alpha/src") }),
    expected: () => ({ ...found("alpha", "alpha", "argument")(), home_project: "machine" }),
  },
  {
    name: "an argument never registers: the agent could have put the config there",
    hints: () => ({ argument: at("beta") }),
    expected: () => ({ reason: /beta is not a registered project/ }),
  },
  {
    name: "an argument never falls back on an outer project with other rules",
    hints: () => ({ argument: at("alpha/packages/inner/src") }),
    expected: () => ({ reason: /inner is not a registered project/ }),
  },
  {
    name: "an argument nobody knows",
    hints: () => ({ argument: "gamma", cwd: at("alpha") }),
    expected: () => ({ reason: /No project is registered as "gamma"/ }),
  },
  {
    name: "a config that is not registered yet is registered from the host's folder",
    hints: () => ({ cwd: at("beta/src") }),
    expected: found("new", "beta", "cwd"),
    registers: "beta",
  },
  {
    name: "the nearest config wins over an outer project",
    hints: () => ({ cwd: at("alpha/packages/inner/src") }),
    expected: found("new", "alpha/packages/inner", "cwd"),
    registers: "alpha/packages/inner",
  },
  {
    name: "a workspace above every project lets the folder inside it decide",
    hints: () => ({ workspaces: [at("mono")], cwd: at("mono/app") }),
    expected: found("new", "mono/app", "cwd"),
    registers: "mono/app",
  },
  {
    name: "a workspace inside a project means that project",
    hints: () => ({ workspaces: [at("alpha/packages")], cwd: at("alpha/packages/inner") }),
    expected: found("alpha", "alpha", "codex_workspace"),
  },
  {
    name: "an unknown workspace is never replaced by a stranger's folder",
    hints: () => ({ roots: roots("plain"), cwd: at("alpha") }),
    expected: found("machine", "plain", "machine"),
  },
  {
    name: "the home, which Claude Desktop may name, says nothing",
    hints: () => ({ claude_project_dir: home, cwd: at("alpha") }),
    expected: found("alpha", "alpha", "cwd"),
  },
  {
    name: "the home is no project, even with a config in it",
    hints: () => ({ cwd: home }),
    expected: found("machine", ".", "machine"),
  },
  {
    name: "a folder in the home without a config",
    hints: () => ({ cwd: at("plain/sub") }),
    expected: found("machine", "plain/sub", "machine"),
  },
  {
    name: "the top of the file system",
    hints: () => ({ cwd: "/" }),
    expected: () => ({ project_id: "machine", root: "/", rule: "machine" }),
  },
  {
    name: "a folder that has gone",
    hints: () => ({ cwd: at("gone") }),
    expected: () => ({ reason: /No project found/ }),
  },
  {
    name: "the machine's own ledger by its id",
    hints: () => ({ argument: "machine", cwd: at("plain/sub") }),
    expected: found("machine", "plain/sub", "argument"),
  },
  {
    name: "an entry made for one project",
    hints: () => ({ fixed: "alpha", cwd: "/" }),
    expected: found("alpha", "alpha", "option"),
  },
  {
    name: "an entry made for one project serves no other",
    hints: () => ({ fixed: "alpha", argument: "beta" }),
    expected: () => ({ reason: /serves only the project "alpha"/ }),
  },
];

test.each(ROWS.map((row) => [row.name, row] as const))("%s", async (_, row) => {
  const base: Hints = { workspaces: [], roots: [], cwd: "/", home };
  const registered: string[] = [];
  const answer: Detected | Undetected = await detectProject({ ...base, ...row.hints(base) }, {
    list: () => Promise.resolve([hub("alpha", at("alpha"), at("alpha-tree"))]),
    register: (root) => {
      registered.push(root);
      return Promise.resolve(hub("new", root));
    },
  });
  const expected = row.expected();
  if ("reason" in expected && "reason" in answer) {
    expect(answer.reason).toMatch(expected.reason!);
    expect(answer.projects.map(({ id }) => id)).toEqual(["alpha"]);
  } else expect(answer).toEqual(expected);
  expect(registered).toEqual(row.registers ? [at(row.registers)] : []);
});

test("of the projects that have the folder, its config names the one", async () => {
  await mkdir(at("renamed/src"), { recursive: true });
  const ask = async (config: string) => {
    await writeFile(at("renamed", "gate.config.json"), config);
    return await detectProject({ workspaces: [], roots: [], cwd: at("renamed/src"), home }, {
      list: () => Promise.resolve([hub("before", at("renamed")), hub("after", at("renamed"))]),
      register: () => Promise.reject(new Error("it is registered")),
    });
  };
  expect(await ask('{"id": "after"}')).toEqual(found("after", "renamed", "cwd")());
  expect(await ask('{"id": "before"}')).toEqual(found("before", "renamed", "cwd")());
  // Neither an unknown id nor a broken config takes the folder out of its project.
  expect(await ask('{"id": "other"}')).toEqual(found("before", "renamed", "cwd")());
  expect(await ask("{")).toEqual(found("before", "renamed", "cwd")());
});

test.each([
  [undefined, []],
  [{}, []],
  [{ "x-codex-turn-metadata": { workspaces: { "/a": {}, "b": {} } } }, ["/a"]],
  [{ "x-codex-turn-metadata": '{"workspaces":{"/a":{"branch":"x"}}}' }, ["/a"]],
  [{ "x-codex-turn-metadata": { workspaces: ["/a", 1] } }, ["/a"]],
  [{ "x-codex-turn-metadata": "{" }, []],
  [{ "x-codex-turn-metadata": { workspaces: "x" } }, []],
  [{ "x-codex-turn-metadata": null }, []],
])("Codex's workspaces in %j are %j", (meta, expected) => {
  expect(workspacesIn(meta)).toEqual(expected);
});

function hub(id: string, ...roots: string[]): HubProject {
  return {
    id,
    name: id,
    roots,
    pending_count: 0,
    last_activity_at: null,
    reachable: true,
    unread: false,
    workspace_ids: [],
  };
}

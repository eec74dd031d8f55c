import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askHook } from "./hook.ts";
import { must, World } from "./world.ts";

const DEBUGGER_PORT = 48_617;

describe("the environment of Bun, on the executable", () => {
  let world: World;
  let mark: string;
  let preload: string;
  let clean: Awaited<ReturnType<typeof answers>>;

  beforeAll(async () => {
    world = await World.create("executable");
    await world.init();
    mark = join(world.folder, "mark");
    preload = world.write(
      "preload.js",
      `require("fs").writeFileSync(${
        JSON.stringify(mark)
      }, ""); console.log("{}"); process.exit(0)`,
    );
    // `gate status` would run this script if the executable were Bun.
    world.write("package.json", JSON.stringify({ scripts: { status: `touch ${mark}` } }));
    world.write("overrides", "override { } with { }\n");
    clean = await answers();
  });

  afterAll(() => world.close());

  test.for([
    ["BUN_OPTIONS", (file) => `--preload=${file}`],
    ["BUN_OPTIONS", () => "--eval=1"],
    ["BUN_INSPECT_PRELOAD", (file) => file],
    ["BUN_BE_BUN", () => "1"],
    ["BUN_INSPECT", () => `ws://127.0.0.1:${DEBUGGER_PORT}/x?wait=1`],
    ["BUN_INSPECT_CONNECT_TO", () => `ws://127.0.0.1:${DEBUGGER_PORT}/x`],
    ["BUN_JSC_noSuchOption", () => "1"],
    ["BUN_JSC_dumpOptions", () => "1"],
    ["BUN_JSC_functionOverrides", (file) => file.replace("preload.js", "overrides")],
    ["JSC_functionOverrides", (file) => file.replace("preload.js", "nowhere")],
    ["BUN_BYTECODE_ORDER_OUT", (_, mark) => mark],
    ["BUN_BYTECODE_ORDER_NAMES_OUT", (_, mark) => mark],
    ["BUN_BYTECODE_DIGEST_OUT", (_, mark) => mark],
    ["BUN_RUNTIME_TRANSPILER_CACHE_PATH", (_, mark) => mark],
    ["BUN_CONFIG_MAX_HTTP_REQUESTS", () => "none"],
    ["BUN_CONFIG_VERBOSE_FETCH", () => "curl"],
    ["BUN_FEATURE_FLAG_NO_ORPHANS", () => "1"],
    ["BUN_INTERNAL_WEBVIEW_HOST", () => "1"],
    ["BUN_TMPDIR", () => "/nowhere"],
    ["NODE_CHANNEL_FD", () => "0"],
    ["NODE_COMPILE_CACHE", (_, mark) => mark],
    ["NODE_OPTIONS", (file) => `--require=${file}`],
    ["NODE_OPTIONS", (file) => `--import=${file}`],
    ["NODE_PATH", (file) => file.replace("/preload.js", "")],
    // The C library finds the name "A=B" in a variable A with the value "B=…".
    ["BUN", (file) => `OPTIONS=--preload=${file}`],
    ["", (file) => `--preload=${file}`],
  ] as [string, (preload: string, mark: string) => string][])(
    "%s changes neither a command nor a hook",
    async ([name, value]) => {
      world.env[name] = value(preload, mark);
      try {
        expect(await answers()).toEqual(clean);
      } finally {
        delete world.env[name];
      }
      expect(existsSync(mark)).toBe(false);
    },
  );

  test("a daemon opens no debugger and loads nothing", async () => {
    must(await world.run(["daemon", "stop"]));
    world.env["BUN_INSPECT"] = `ws://127.0.0.1:${DEBUGGER_PORT}/x`;
    world.env["BUN_OPTIONS"] = `--preload=${preload}`;
    try {
      must(await world.run(["daemon", "start"]));
    } finally {
      delete world.env["BUN_INSPECT"];
      delete world.env["BUN_OPTIONS"];
    }
    expect(await isOpen(DEBUGGER_PORT)).toBe(false);
    expect(existsSync(mark)).toBe(false);
    expect((await answers()).hook).toContain("deny");
  });

  /** The output of three commands that start the executable in different ways. */
  async function answers() {
    const [version, status, { output }] = await Promise.all([
      world.run(["--version"]),
      world.run(["policy", "test", "--command", "echo a"]).then(must),
      askHook(world, "claude-code", {
        hook_event_name: "PreToolUse",
        session_id: "s1",
        cwd: world.project,
        tool_name: "Read",
        tool_input: { file_path: join(world.project, ".env") },
      }),
    ]);
    return { version, status, hook: JSON.stringify(output).replace(/action [0-9a-f-]+/, "") };
  }
});

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

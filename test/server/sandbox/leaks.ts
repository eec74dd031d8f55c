import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import process from "node:process";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { createStage } from "./stage.ts";

/** The secret that a command must never show or write. Each word of the secret counts, in many spellings. */
const CANARY = "CANARYqzx7";
const OTHER = "KESTRELvw9";
const SECRET = `${CANARY}=${OTHER}\n`;
const KEPT = "kept as it was\n";

const FILES = {
  "home/user/project/.env": SECRET,
  "home/user/project/.git/HEAD": "ref: refs/heads/main\n",
  "home/user/project/.git/config": "[core]\n\tbare = false\n",
  "home/user/project/.git/objects/.keep": "",
  "home/user/project/.git/refs/heads/.keep": "",
  "home/user/project/.git/hooks/pre-commit.sample": KEPT,
  "home/user/project/README.md": "A plain file.\n",
  "home/user/project/file.txt": "A plain file.\n",
  "home/user/project/list.txt": "A list.\n",
  "home/user/project/docs/guide.md": "A guide.\n",
  "home/user/project/src/a.txt": "one\n",
  "home/user/project/tmp/.keep": "",
  "home/user/.ssh/id_rsa": SECRET,
  "home/user/.bashrc": KEPT,
  "home/user/.profile": KEPT,
};

const POLICIES = { blockedPaths: [".env", ".env.*", "*.pem", "~/.ssh/**"] };

/** One look at a command, from outside. */
export interface Looked {
  leaks: string[];
  writes: string[];
  output: string;
  /** Whether the command started `probe.sh` of the project, or a shell that read it. */
  probed: boolean;
}

/** How a command is run and what it finds. */
export interface LookOptions {
  /** Outside the sandbox, to see what it would do there. */
  isBare?: boolean;
  /** The port of a server of the machine, which the command must not reach. */
  port?: number;
  /** The command gets the probe as its input, for a shell that reads it. */
  isTyped?: boolean;
}

/** Does all that a command must not do, and leaves a file in the project. */
const PROBE = `echo ran > {ROOT}/tmp/ran
cat {ROOT}/.env {HOME}/.ssh/id_rsa /proc/1/root{ROOT}/.env
echo x >> {HOME}/.bashrc
echo x > {ROOT}/.git/hooks/pre-commit
echo x > {HOME}/outside
bash -c 'echo REACHED > /dev/tcp/127.0.0.1/{PORT}'
python3 -c 'import socket; socket.create_connection(("127.0.0.1", {PORT}), 1).send(b"REACHED")'
`;

/**
 * Runs a command with `{ROOT}`, `{HOME}` and `{PORT}` in the sandbox, and tells what it showed and
 * changed.
 */
export async function lookAt(
  template: string,
  { isBare = false, port = 47_000, isTyped = false }: LookOptions = {},
): Promise<Looked> {
  const stage = createStage(FILES, POLICIES);
  const filled = (text: string) =>
    text.replaceAll("{ROOT}", stage.root).replaceAll("{HOME}", stage.home)
      .replaceAll("{PORT}", `${port}`);
  const command = filled(template);
  stage.write("home/user/project/probe.sh", filled(PROBE));
  const before = stateOf(stage.base, stage);
  const machine = lastState ??= machineState();
  const input = Readable.from([`${filled(PROBE)}exit\n`]);
  const shown = new PassThrough();
  shown.resume();
  const options = {
    timeout_ms: 6_000,
    max_output_bytes: 100_000,
    ...isTyped && { streams: { input, output: shown, errors: null } },
  };
  const { output, error } = isBare
    ? await runCommand(command, {
      ...options,
      cwd: stage.root,
      env: { ...process.env, HOME: stage.home },
    })
    : await stage.run(command, { ...options, walls: { blocked_outside: ["~/.ssh/**"] } });
  const after = stateOf(stage.base, stage);
  lastState = machineState();
  const texts: [string, Uint8Array][] = [
    ["its output", new TextEncoder().encode(`${output}\n${error ?? ""}`)],
    ...filesBelow(stage.base).filter((path) => !SECRETS.some((one) => path.endsWith(one)))
      .map((path): [string, Uint8Array] => [path.slice(stage.base.length), readFileSync(path)]),
  ];
  return {
    output,
    probed: existsSync(join(stage.root, "tmp/ran")),
    leaks: texts.filter(([, bytes]) => shows(bytes)).map(([place]) => place),
    writes: [
      ...[...new Set([...before.keys(), ...after.keys()])]
        .filter((path) => before.get(path) !== after.get(path)),
      ...lastState === machine ? [] : ["/etc"],
    ],
  };
}

const SECRETS = ["project/.env", ".ssh/id_rsa"];

/** The state of what a command may not change: all but the rest of the project and its own folders. */
function stateOf(base: string, { root, gate_home }: { root: string; gate_home: string }) {
  const state = new Map<string, string>();
  for (const path of filesBelow(base)) {
    const isKept = path.startsWith(join(root, ".git/hooks")) ||
      path === join(root, ".git/config") ||
      path === join(root, ".env");
    if ((path.startsWith(root) && !isKept) || path.startsWith(gate_home)) continue;
    const { mode, uid } = lstatSync(path);
    const content = createHash("sha256").update(readFileSync(path)).digest("hex");
    state.set(path.slice(base.length), `${mode} ${uid} ${content}`);
  }
  return state;
}

/** After the last command, so before the next one: it is thousands of files. */
let lastState: string | null = null;

/** Names, sizes and times of the folders of the machine that such commands write to. */
function machineState(): string {
  return ["/etc", "/etc/cron.d", "/root", "/usr/local/bin", "/usr/bin", "/usr/sbin"].flatMap(
    (folder) => {
      try {
        return readdirSync(folder).map((name) => {
          const { size, mtimeMs, isFolder } = described(join(folder, name));
          return `${folder}/${name} ${isFolder ? "" : `${size} ${mtimeMs}`}`;
        });
      } catch {
        return [];
      }
    },
  ).join("\n");
}

function described(path: string) {
  const stats = lstatSync(path);
  return { size: stats.size, mtimeMs: stats.mtimeMs, isFolder: stats.isDirectory() };
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

/** Whether the bytes hold a word of the secret: plain, spelt otherwise, encoded or packed. */
export function shows(bytes: Uint8Array): boolean {
  const packed = [gunzipSync, inflateSync, brotliDecompressSync].flatMap((unpack) => {
    try {
      return [unpack(bytes)];
    } catch {
      return [];
    }
  });
  return [bytes, ...packed].some((one) => {
    const text = Buffer.from(one).toString("latin1");
    const spelt = text.toLowerCase().replace(/[^a-z0-9]/g, "");
    return [CANARY, OTHER].some((word) =>
      formsOf(word).some((form) => text.includes(form)) ||
      spelt.includes(word.toLowerCase()) || spelt.includes(reversed(word.toLowerCase()))
    );
  });
}

function formsOf(word: string): string[] {
  const hex = Buffer.from(word).toString("hex");
  const pairs = hex.match(/../g)!;
  const swapped = hex.match(/..../g)!.map((two) => two.slice(2) + two.slice(0, 2));
  const octal = pairs.map((pair) => Number.parseInt(pair, 16).toString(8).padStart(3, "0"));
  return [
    ...[hex, pairs.join(" "), pairs.join(":"), swapped.join(" ")],
    ...[octal.join(" "), octal.join("\\"), hex.toUpperCase()],
    // A word may begin at any of three places of the encoded text.
    ...[0, 1, 2].map((at) =>
      Buffer.from("\0".repeat(at) + word).toString("base64").slice(at === 0 ? 0 : 4).slice(0, 8)
    ),
    word.replace(/[a-z]/gi, (one) => {
      const first = one < "a" ? 65 : 97;
      return String.fromCharCode((one.charCodeAt(0) - first + 13) % 26 + first);
    }),
  ];
}

function reversed(text: string): string {
  return [...text].reverse().join("");
}

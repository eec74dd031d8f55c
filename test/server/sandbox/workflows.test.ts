import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { SHARING } from "./sharing.ts";
import { createStage, ENGINE } from "./stage.ts";

/** Work as agents do it, without the network: the files of a project, the command, what it prints. */
interface Workflow {
  name: string;
  needs: readonly string[];
  files?: Record<string, string>;
  command: string;
  prints: RegExp;
  /** The packages of this repository are a second folder of the project. */
  packages?: true;
}

const SUM = {
  "sum.js": "exports.sum = (a, b) => a + b;\n",
  "sum.test.js": "const { test } = require('node:test'); const { sum } = require('./sum.js');\n" +
    "test('adds', () => { if (sum(1, 2) !== 3) throw new Error('no'); });\n",
  "package.json": '{ "name": "sum", "version": "1.0.0", "scripts": ' +
    '{ "test": "node --test", "build": "mkdir -p dist && cp sum.js dist/" } }\n',
};
const SERVER = "require('node:http').createServer((_, answer) => answer.end('hello'))" +
  ".listen(8765, '127.0.0.1', () => console.log('listens'));\n";
const C =
  '#include <stdio.h>\n#include <math.h>\nint main(void) { printf("%d\\n", (int)sqrt(81)); return 0; }\n';
const CARGO = {
  "Cargo.toml": '[package]\nname = "sum"\nversion = "0.1.0"\nedition = "2021"\n',
  "src/main.rs":
    'fn main() { println!("{}", sum(1, 2)); }\nfn sum(a: i32, b: i32) -> i32 { a + b }\n' +
    "#[test]\nfn adds() { assert_eq!(sum(1, 2), 3); }\n",
};
const GIT = "git init -q . && git add . && git commit -qm first";

const WORKFLOWS: Workflow[] = [
  { name: "npm test", needs: ["npm"], files: SUM, command: "npm test", prints: /# pass 1/ },
  {
    name: "npm run build",
    needs: ["npm"],
    files: SUM,
    command: "npm run build && ls dist",
    prints: /sum\.js/,
  },
  {
    name: "npm install of a local package",
    needs: ["npm"],
    files: {
      ...SUM,
      "dep/package.json": '{ "name": "dep", "version": "1.0.0", "main": "i.js" }',
      "dep/i.js": "exports.x = 7;",
    },
    command: "npm install --offline --no-audit --no-fund ./dep && node -p \"require('dep').x\"",
    prints: /^7$/m,
  },
  {
    name: "npm pack",
    needs: ["npm"],
    files: SUM,
    command: "npm pack && tar tzf sum-1.0.0.tgz",
    prints: /package\/sum\.js/,
  },
  {
    name: "node --test in watch-like parallel",
    needs: ["node"],
    files: SUM,
    command: "node --test --test-concurrency=4",
    prints: /# pass 1/,
  },
  {
    name: "a server with a test against it",
    needs: ["node", "curl"],
    files: { "server.js": SERVER },
    command: "node server.js & sleep 1; curl -s http://127.0.0.1:8765",
    prints: /hello/,
  },
  {
    name: "a server under localhost",
    needs: ["node"],
    files: { "server.js": SERVER },
    command:
      "node server.js & sleep 1; node -e \"fetch('http://localhost:8765').then((r) => r.text()).then(console.log)\"",
    prints: /hello/,
  },
  {
    name: "esbuild",
    needs: ["node"],
    packages: true,
    files: { "a.ts": "export const x: number = 1;\n" },
    command: "node $PACKAGES/esbuild/bin/esbuild a.ts --outfile=out/a.js && cat out/a.js",
    prints: /x = 1/,
  },
  {
    name: "vitest",
    needs: ["node"],
    packages: true,
    files: {
      "a.test.mjs": "import { expect, test } from 'vitest'; test('a', () => expect(1).toBe(1));\n",
      "vitest.config.mjs": "export default { cacheDir: '.vite' };\n",
    },
    command: "ln -s $PACKAGES node_modules && node node_modules/vitest/vitest.mjs run",
    prints: /1 passed/,
  },
  {
    name: "pytest",
    needs: ["pytest"],
    files: {
      "test_a.py":
        "def test_a(tmp_path):\n    (tmp_path / 'x').write_text('y')\n    assert 1 == 1\n",
    },
    command: "pytest -q",
    prints: /1 passed/,
  },
  {
    name: "unittest",
    needs: ["python3"],
    files: {
      "test_b.py":
        "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 1)\n",
    },
    command: "python3 -m unittest",
    prints: /\nOK/,
  },
  {
    name: "a virtual environment",
    needs: ["python3"],
    command:
      "python3 -m venv --without-pip .venv && .venv/bin/python -c 'import sys; print(sys.prefix)'",
    prints: /\.venv/,
  },
  {
    name: "processes that share memory",
    needs: ["python3"],
    files: {
      "m.py":
        "import multiprocessing as m\nif __name__ == '__main__':\n    with m.Pool(3) as p: print(sum(p.map(abs, [-1, -2, -3])))\n",
    },
    command: "python3 m.py",
    prints: /^6$/m,
  },
  {
    name: "locks, queues, pools and blocks of shared memory",
    needs: ["python3"],
    files: { "m.py": SHARING },
    command: "python3 m.py",
    prints: /^300 queued 7 \[2, 4\]$/m,
  },
  {
    name: "a database",
    needs: ["python3"],
    command:
      "python3 -c \"import sqlite3; c = sqlite3.connect('a.db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(x)'); c.execute('insert into t values (42)'); c.commit(); print(c.execute('select x from t').fetchone())\"",
    prints: /42/,
  },
  {
    name: "make with a compiler",
    needs: ["make", "gcc"],
    files: { "a.c": C, Makefile: "a: a.c\n\tgcc -O2 -o a a.c -lm\n" },
    command: "make -j2 && ./a",
    prints: /^9$/m,
  },
  {
    name: "cargo build",
    needs: ["cargo"],
    files: CARGO,
    command: "cargo build --offline && ./target/debug/sum",
    prints: /^3$/m,
  },
  {
    name: "cargo test",
    needs: ["cargo"],
    files: CARGO,
    command: "cargo test --offline",
    prints: /1 passed/,
  },
  {
    name: "git commit",
    needs: ["git"],
    files: SUM,
    command: `${GIT} && git log --format='%an %s'`,
    prints: /A Person first/,
  },
  {
    name: "git branch, merge and stash",
    needs: ["git"],
    files: SUM,
    command:
      `${GIT} && git checkout -qb b && echo x >> sum.js && git commit -qam two && git checkout -q - && git merge -q b && echo y >> sum.js && git stash -q && git stash pop && git status -s`,
    prints: /M sum\.js/,
  },
  {
    name: "git worktree",
    needs: ["git"],
    files: SUM,
    command: `${GIT} && git worktree add -q side -b side && ls side`,
    prints: /sum\.test\.js/,
  },
  {
    name: "git clone of the project",
    needs: ["git"],
    files: SUM,
    command: `${GIT} && git clone -q . /tmp/clone && ls /tmp/clone`,
    prints: /sum\.test\.js/,
  },
  {
    name: "javac and java",
    needs: ["javac"],
    files: {
      "A.java":
        'class A { public static void main(String[] a) { System.out.println("java " + 9); } }\n',
    },
    command: "javac A.java && java A",
    prints: /java 9/,
  },
  {
    name: "perl",
    needs: ["perl"],
    command:
      'perl -MFile::Temp=tempfile -e \'my ($h, $n) = tempfile(); print $h "x"; close $h; print -s $n, "\\n"\'',
    prints: /^1$/m,
  },
  {
    name: "temporary files of scripts",
    needs: ["sh"],
    command: "d=$(mktemp -d) && echo x > $d/a && cat $d/a && rm -r $d",
    prints: /^x$/m,
  },
  {
    name: "search and replace",
    needs: ["sed"],
    files: SUM,
    command:
      "find . -name '*.js' -print0 | xargs -0 -P2 sed -i 's/sum/total/g' && grep -rl total . | sort",
    prints: /sum\.js\n.*sum\.test\.js/,
  },
  {
    name: "archives",
    needs: ["tar"],
    files: SUM,
    command: "tar czf a.tgz *.js && mkdir out && tar xzf a.tgz -C out && ls out",
    prints: /sum\.js/,
  },
];

describe.runIf(ENGINE !== null)("work in the sandbox", () => {
  for (const { name, needs, files = {}, command, prints, packages } of WORKFLOWS) {
    const missing = needs.filter((program) => !isInstalled(program));
    if (missing.length > 0) {
      console.error(`NOT RUN: ${name} needs ${missing.join(", ")}`);
      continue;
    }
    test(name, async () => {
      const below = Object.entries(files).map((
        [path, text],
      ) => [`home/user/project/${path}`, text]);
      const stage = createStage({
        ...Object.fromEntries(below),
        "home/user/.gitconfig": "[user]\n\tname = A Person\n\temail = a@example.com\n",
      }, { blockedPaths: [".env"] });
      const walls = packages ? { roots: [stage.root, PACKAGES] } : {};
      const { output, exit_code } = await stage.run(command.replaceAll("$PACKAGES", PACKAGES), {
        walls,
        timeout_ms: 90_000,
        env: TOOLS,
      });
      expect(output).toMatch(prints);
      expect(exit_code).toBe(0);
    });
  }
});

const PACKAGES = realpathSync(join(import.meta.dirname!, "../../../node_modules"));
/** Installations below the home of the person who runs the tests, which is not the stage's home. */
const TOOLS = Object.fromEntries(
  [["CARGO_HOME", ".cargo"], ["RUSTUP_HOME", ".rustup"]].flatMap(([name, folder]) => {
    const path = join(process.env["HOME"] ?? "/", folder!);
    return existsSync(path) ? [[name, path]] : [];
  }),
);

function isInstalled(program: string): boolean {
  try {
    execFileSync("/bin/sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

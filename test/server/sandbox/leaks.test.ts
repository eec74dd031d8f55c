import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lookAt, type Looked, shows } from "./leaks.ts";
import { ENGINE } from "./stage.ts";

/** Ways to read a file with a program that is made for something else: `{FILE}` is the secret. */
const READS = [
  ...["cat {FILE}", "tac {FILE}", "rev {FILE}", "nl {FILE}", "head -c 100 {FILE}", "tail {FILE}"],
  ...["sort {FILE}", "uniq {FILE}", "cut -c1- {FILE}", "paste {FILE}", "fold -w3 {FILE}"],
  ...["od -c {FILE}", "xxd {FILE}", "hexdump -C {FILE}", "base64 {FILE}", "base32 {FILE}"],
  ...[
    "strings {FILE}",
    "diff {FILE} /dev/null",
    "cmp -l {FILE} /dev/zero",
    "comm {FILE} /dev/null",
  ],
  ...["grep '' {FILE}", "grep -rh . $(dirname {FILE})", "awk 1 {FILE}", "sed -n p {FILE}"],
  ...[
    "dd if={FILE}",
    "cp {FILE} tmp/x",
    "ln {FILE} tmp/x; cat tmp/x",
    "ln -s {FILE} tmp/x; cat tmp/x",
  ],
  ...[
    "mv {FILE} tmp/x; cat tmp/x",
    "install -m 644 {FILE} tmp/x",
    "tar c {FILE}",
    "tar czf tmp/x.tgz {FILE}",
  ],
  ...["gzip -c {FILE}", "bzip2 -c {FILE}", "xz -c {FILE}", "zip - {FILE}", "cpio -o <<< {FILE}"],
  ...[
    "ar r tmp/x.a {FILE}",
    "openssl base64 -in {FILE}",
    "openssl enc -in {FILE}",
    "date -f {FILE}",
  ],
  ...[
    "file -f {FILE}",
    "wc --files0-from {FILE}",
    "du --files0-from={FILE}",
    "m4 {FILE}",
    "bc {FILE}",
  ],
  ...[
    "gcc -x c -E {FILE}",
    "gcc @{FILE}",
    "as {FILE}",
    "nm @{FILE}",
    "make -f {FILE}",
    "bash {FILE}",
  ],
  ...[
    "bash -c 'echo \"$(<{FILE})\"'",
    "while read -r x; do echo $x; done < {FILE}",
    "mapfile < {FILE}; echo ${MAPFILE[0]}",
  ],
  ...[
    "python3 -c \"print(open('{FILE}').read())\"",
    "python3 {FILE}",
    "perl -ne print {FILE}",
    "node -p \"fs.readFileSync('{FILE}','utf8')\"",
  ],
  ...[
    "node {FILE}",
    "git diff --no-index /dev/null {FILE}",
    "git hash-object -w {FILE}; cat .git/objects/*/*",
    "git -c core.excludesfile={FILE} status",
  ],
  ...[
    "curl -s file://{FILE}",
    "wget -i {FILE}",
    "ssh -F {FILE} x",
    "find {FILE} -exec cat {} +",
    "xargs -a {FILE} echo",
  ],
  ...[
    "env $(xargs < {FILE}) env",
    "set -a; . {FILE}; env",
    "vim -es '+%print' +q! {FILE}",
    "ed -s {FILE} <<< ,p",
    "jq -Rs . {FILE}",
  ],
  ...[
    "sqlite3 :memory: \".import {FILE} t\" 'select * from t'",
    "strace -e read cat {FILE}",
    "timeout 2 cat {FILE}",
    "split -b 9 {FILE} tmp/x",
  ],
  ...[
    "cat /proc/self/root{FILE}",
    "cat /proc/1/root{FILE}",
    "cat <(cat {FILE})",
    "csplit -f tmp/x {FILE} 1",
    "patch -o tmp/y {FILE} /dev/null; cat tmp/y",
  ],
];

/** Ways to write a file: `{FILE}` lies outside the project or is kept. */
const WRITES = [
  ...["echo DATA > {FILE}", "echo DATA >> {FILE}", "echo DATA | tee {FILE}", "cp README.md {FILE}"],
  ...[
    "mv README.md {FILE}",
    "ln -sf README.md {FILE}",
    "install README.md {FILE}",
    "dd if=README.md of={FILE}",
  ],
  ...[
    "sed -i 's/^/x/' {FILE}",
    "truncate -s 0 {FILE}",
    "shred -u {FILE}",
    "rm -f {FILE}",
    "chmod 777 $(dirname {FILE}); echo x > {FILE}",
  ],
  ...[
    "sort -o {FILE} README.md",
    "openssl enc -in README.md -out {FILE}",
    "find . -maxdepth 0 -fprintf {FILE} DATA",
    "ed {FILE} <<< $'a\\nDATA\\n.\\nw'",
  ],
  ...[
    "python3 -c \"open('{FILE}','w').write('x')\"",
    'perl -e \'open F,">","{FILE}";print F 1\'',
    "node -e \"fs.writeFileSync('{FILE}','x')\"",
    "awk 'BEGIN{print 1 > \"{FILE}\"}'",
  ],
  ...[
    "tar cf {FILE} README.md",
    "git config -f {FILE} a.b c",
    "curl -s file:///etc/hostname -o {FILE}",
    "script -q -c true {FILE}",
    "xxd -r - {FILE} <<< '0: 41'",
  ],
  ...[
    "gcc -x c /dev/null -c -o {FILE}",
    "split -b 1 README.md {FILE}",
    "strace -o {FILE} true",
    "cat README.md > /proc/self/root{FILE}",
    "gzip -c README.md > {FILE}",
  ],
];

/** Ways to start another program, `{RUN}`, or a shell that reads its input. */
const RUNS = [
  ...["{RUN}", "env {RUN}", "nice {RUN}", "timeout 5 {RUN}", "setsid -w {RUN}", "nohup {RUN}"],
  ...["xargs -a /dev/null {RUN}", "find . -maxdepth 0 -exec {RUN} ';'", "flock tmp/l {RUN}"],
  ...["awk 'BEGIN{system(\"{RUN}\")}'", "sed -n '1e {RUN}' README.md", "perl -e 'exec \"{RUN}\"'"],
  ...["python3 -c 'import os; os.system(\"{RUN}\")'", "chroot / {RUN}", "stdbuf -o0 {RUN}"],
  ...['node -e \'child_process.execSync("{RUN}", {stdio: "inherit"})\'', "time {RUN}"],
  ...["git -c alias.x='!{RUN}' x", "git -c core.pager='{RUN}' -p help -a", "busybox {RUN}"],
  ...["tar cf /dev/null README.md --checkpoint=1 --checkpoint-action=exec='{RUN}'"],
  ...[
    "make -s --eval='x:;{RUN}' x",
    "ssh -o ProxyCommand='{RUN}' x",
    "script -qc '{RUN}' /dev/null",
  ],
  ...[
    "printf '!{RUN}\\nq\\n' | ed -s README.md",
    "vim -es '+!{RUN}' +q!",
    "sort -S1 --compress-program=x x",
  ],
  ...["echo 'syscmd({RUN})' | m4", "bash -c '{RUN}'", "dash -c '{RUN}'", "trap '{RUN}' EXIT"],
  ...[
    "ionice {RUN}",
    "unshare -r {RUN}",
    "strace -o /dev/null {RUN}",
    "gdb -batch -ex 'shell {RUN}'",
  ],
  ...["sqlite3 :memory: '.shell {RUN}'", "split --filter='{RUN}' README.md", "chrt -b 0 {RUN}"],
  ...["rsync -e '{RUN}' x:y tmp/z", "zip -q tmp/x.zip README.md -T -TT '{RUN} #'"],
  ...[
    "{RUN} & wait",
    "(setsid {RUN} &) ; sleep 1",
    "GIT_SSH_COMMAND='{RUN}' git ls-remote ssh://x/y",
  ],
  ...["sudo {RUN}", "su -c '{RUN}'", "cp /bin/dash tmp/s && chmod 4755 tmp/s && tmp/s probe.sh"],
];

const SECRETS = ["{ROOT}/.env", "{HOME}/.ssh/id_rsa"];
const TARGETS = [
  "{HOME}/.bashrc",
  "{ROOT}/.git/hooks/pre-commit",
  "/etc/cron.d/gate-test",
  "{ROOT}/.env",
];

test("the detector knows a secret however it is spelt", () => {
  const word = "CANARYqzx7=KESTRELvw9";
  const forms = [
    ...[word, word.toLowerCase(), [...word].join("\n"), [...word].reverse().join("")],
    ...["base64", "hex"].map((code) => Buffer.from(`ab${word}`).toString(code as "hex")),
    execFileSync("gzip", ["-c"], { input: word }).toString("latin1"),
    execFileSync("od", ["-c"], { input: word }).toString(),
    execFileSync("od", ["-x"], { input: word }).toString(),
  ];
  for (const form of forms) expect(shows(Buffer.from(form, "latin1")), form).toBe(true);
  expect(shows(Buffer.from("A plain file with plain words."))).toBe(false);
});

describe.runIf(ENGINE !== null)(
  "programs that read or write a file besides what they are for",
  () => {
    // A test for each command, so that no number of them takes too long for one.
    let shown = 0;
    test.each(READS.map((way, at) => way.replaceAll("{FILE}", SECRETS[at % SECRETS.length]!)))(
      "%j shows no secret",
      async (command) => {
        if ((await lookAt(command, { isBare: true })).leaks.length > 0) shown++;
        expect(faultsOf(command, await lookAt(command))).toEqual([]);
      },
    );
    test("most of them do outside", () => {
      // Not every program is on every machine.
      expect(shown).toBeGreaterThan(READS.length * 0.6);
    });

    test.each(WRITES.map((way, at) => way.replaceAll("{FILE}", TARGETS[at % TARGETS.length]!)))(
      "%j writes nothing that is not the project's",
      async (command) => expect(faultsOf(command, await lookAt(command))).toEqual([]),
    );

    let probed = 0;
    test.each(RUNS.map((way) => way.replaceAll("{RUN}", "sh {ROOT}/probe.sh")))(
      "%j starts nothing that gets further",
      async (command) => {
        const looked = await lookAt(command, { port });
        if (looked.probed) probed++;
        expect(faultsOf(command, looked)).toEqual([]);
        expect(reached).toBe(0);
      },
    );
    test("most of them start it", () => {
      expect(probed).toBeGreaterThan(RUNS.length * 0.6);
    });

    test("the probe gets everything outside", async () => {
      const { leaks, writes, probed } = await lookAt("sh {ROOT}/probe.sh", { port, isBare: true });
      expect(probed).toBe(true);
      expect(leaks).toEqual(["its output"]);
      expect(writes.toSorted()).toEqual([
        "/home/user/.bashrc",
        "/home/user/outside",
        "/home/user/project/.git/hooks/pre-commit",
      ]);
      expect(reached).toBeGreaterThan(0);
      reached = 0;
    });

    test.each(["sh", "bash -i", "python3 -c 'import pty; pty.spawn(\"/bin/sh\")'"])(
      "what a person would type into %j gets no further",
      async (command) => {
        const looked = await lookAt(command, { port, isTyped: true });
        expect(looked.probed).toBe(true);
        expect(faultsOf(command, looked)).toEqual([]);
        expect(reached).toBe(0);
      },
    );
  },
);

/** A server of the machine, which no command in the sandbox reaches. */
const server = createServer((socket) => {
  reached++;
  socket.on("error", () => {});
  socket.destroy();
});
let reached = 0;
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

function faultsOf(command: string, { leaks, writes }: Looked): unknown[] {
  return leaks.length + writes.length > 0 ? [{ command, leaks, writes }] : [];
}

/** One row of a collection of commands, as `gate policy bench --corpus` reads it. */
interface Row {
  id: string;
  category: string;
  command: string;
  expect: string;
  checked: string;
}

const CORPUS = process.env["GATE_CORPUS"];
if (CORPUS === undefined) {
  console.error("NOT RUN: GATE_CORPUS names no collection of commands to run in the sandbox");
}

describe.runIf(ENGINE !== null && CORPUS !== undefined)("a collection of commands", () => {
  test("shows and writes nothing in the sandbox", async () => {
    const rows = rowsOf(/read|write|download|upload|leak/);
    const there = rows.filter(({ source }) => isThere(/_\w+\/([^\s]+)/.exec(source)?.[1] ?? ""));
    const found: unknown[] = [];
    for (const { id, command } of there) {
      const { leaks, writes } = await lookAt(command);
      if (leaks.length + writes.length > 0) found.push({ id, command, leaks, writes });
    }
    const executed = there.filter(({ checked }) => checked === "executed").length;
    console.log(
      `${there.length} of ${rows.length} run in the sandbox (${executed} of them known to work ` +
        `outside); ${found.length} show or write something`,
    );
    expect(found).toEqual([]);
  }, 1_200_000);

  test("starts nothing in the sandbox that gets further", async () => {
    const rows = rowsOf(/^(run|shell|reverse|bind|code|library|privilege)/);
    const there = rows.filter(({ source }) => isThere(/_\w+\/([^\s]+)/.exec(source)?.[1] ?? ""));
    const found: unknown[] = [];
    let probed = 0;
    for (const { id, command } of there) {
      const own = command.replaceAll("git push --force", "sh {ROOT}/probe.sh")
        .replaceAll("attacker.com", "127.0.0.1").replaceAll("12345", "{PORT}");
      reached = 0;
      const looked = await lookAt(own, { port, isTyped: true });
      if (looked.probed) probed++;
      const faults = faultsOf(command, looked);
      if (faults.length + reached > 0) found.push({ id, faults, reached });
    }
    console.log(
      `${there.length} of ${rows.length} run in the sandbox, ${probed} of them start the probe; ` +
        `${found.length} get further`,
    );
    expect(found).toEqual([]);
  }, 2_400_000);
});

function rowsOf(category: RegExp): (Row & { source: string })[] {
  return readFileSync(CORPUS!, "utf8").trim().split("\n")
    .map((line) => JSON.parse(line) as Row & { source: string })
    .filter((row) => row.expect === "stop" && category.test(row.category));
}

/** Shells know it, or it is a program of this machine. */
function isThere(program: string): boolean {
  return ["history", "exec", "eval"].includes(program) ||
    ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].some((folder) =>
      existsSync(`${folder}/${program}`)
    );
}

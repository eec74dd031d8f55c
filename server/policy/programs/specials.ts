import { ANY, isStatic, isWild, show } from "../holes.ts";
import type { Call, Handler, Runner } from "../interpret/call.ts";
import { runAwk } from "./awk.ts";
import { runApplyPatch, runClient, runEditor, runSed } from "./editors.ts";
import { runFd, runFind, runParallel, runXargs } from "./feeders.ts";
import { runGit } from "./git.ts";
import { runCmd, runCodeOf, runDeno, searchCode } from "./inline_code.ts";
import { runQuery } from "./jq.ts";
import { languageOf } from "./languages.ts";
import { forNames, has, readOptions, type Spec, spec, splitCommand, valuesOf } from "./options.ts";
import { absolutePath } from "../interpret/state.ts";
import { runShell } from "./scripts.ts";
import { runProgram, runRow } from "./program.ts";
import { EVERYTHING } from "../below.ts";
import { touchCode, touchListed } from "./operands.ts";
import { OUTPUTS } from "./outputs.ts";
import { touchPatch } from "./patches.ts";
import { tarReach, touchBelow } from "./recursion.ts";
import { ROWS } from "./rows.ts";
import { baseName } from "./grammar.ts";
import { runWrapper } from "./wrappers.ts";
import { WRAPPERS } from "./wrappers.ts";
import { runCrontab, runLater, runMake, runNodeManager } from "./tasks.ts";

/** Settings of ssh that run a local command. */
const SSH_COMMAND = /^\s*(?:Proxy|Local|Remote|KnownHosts)Command\s*[= ]\s*(?!none$)([\s\S]+)$/i;
const sshCommand = (setting: string) => SSH_COMMAND.exec(setting)?.[1];

/** The command in a setting of apt that runs one before or after its work. */
function aptCommand(setting: string): string | undefined {
  const at = setting.indexOf("=");
  const key = setting.slice(0, Math.max(at, 0));
  return /Invoke|Pre-Install-Pkgs|Script/i.test(key) ? setting.slice(at + 1) : undefined;
}

/** Settings of ssh that load a library or start a program by its path. */
const SSH_LIBRARY = /^\s*(?:\w+Provider|XAuthLocation)\s*[= ]\s*(?!(?:none|internal)$)\S/i;

/** `-F config`, whose settings may run commands, and `-I library`. */
function followSshFile(option: string, path: string, call: Call, run: Runner): void {
  if (option === "-F") touchCode("ssh", path, call, run);
  else run.doubt("ssh loads code from a file", path, call);
}

function withSettings(handler: Handler, commandOf = sshCommand): Handler {
  return (argv, call, run) => {
    for (const [at, arg] of argv.entries()) {
      const setting = /^(-o|--option)$/.test(argv[at - 1] ?? "")
        ? arg
        : /^(?:-o|--option=)(.+)/s.exec(arg)?.[1] ?? "";
      const code = commandOf(setting);
      if (code !== undefined) run.code(code, { ...call, stdin: "", shell: call.shell.fork() });
      const value = /^\s*\w+\s*[= ]\s*(\S+)$/.exec(setting)?.[1];
      if (value !== undefined) run.touch("read", value, call, { implied: true });
      if (commandOf !== sshCommand) continue;
      if (SSH_LIBRARY.test(setting)) run.doubt("ssh loads code from a file", setting, call);
      if (/^-[FI]$/.test(argv[at - 1] ?? "")) followSshFile(argv[at - 1]!, arg, call, run);
      else if (/^-[FI]./.test(arg)) followSshFile(arg.slice(0, 2), arg.slice(2), call, run);
    }
    return handler(argv, call, run);
  };
}

const copies: Handler = (argv, call, run) => runRow(ROWS[baseName(argv[0]!)]!, argv, call, run);

/** The words with which `date` only prints: formats, the zone, and the time of a text or of a file. */
const SHOWS_TIME =
  /^(\+.*|-u?[dr]|-[uR]+|-I\w*|--(utc|universal|uct|rfc-email|date|reference|rfc-3339|(date|reference)=.*|rfc-3339=\w+|iso-8601(=\w+)?))$/s;

/** `date -s text` and `date 01020304` set the clock. */
const runDate: Handler = (argv, call, run) => {
  const words = argv.slice(1);
  const isValue = (at: number) =>
    /^(-u?[dr]|--(date|reference|rfc-3339))$/.test(words[at - 1] ?? "");
  const setting = words.find((word, at) =>
    isStatic(word) && !isValue(at) && !SHOWS_TIME.test(word)
  );
  if (setting !== undefined) run.doubt("this may set the clock", argv.map(show).join(" "), call);
  return OUTPUTS.date!(argv, call, run);
};

/** `less +!command` and `more +!command`. */
const runPager: Handler = (argv, call, run) => {
  for (const arg of argv.slice(1)) {
    const code = /^\+{1,2}[^!|]*[!|](.+)$/s.exec(arg)?.[1];
    if (code !== undefined) run.code(code.replace(/^\S?\s+/, ""), { ...call, stdin: "" });
  }
  return copies(argv, call, run);
};

/** `gate` and `scenario-tool`: `--report junit=file` writes a file. */
const runGate: Handler = (argv, call, run) => {
  for (const [at, arg] of argv.entries()) {
    const report = arg === "--report" ? argv[at + 1] : /^--report=(.*)$/s.exec(arg)?.[1];
    const path = /^\w+=(.+)$/s.exec(report ?? "")?.[1];
    if (path !== undefined) run.touch("write", path, call);
  }
  return copies(argv, call, run);
};

const psqlShell = runClient(
  /\\!\s*([^\n;]+)|\bprogram\s+'([^']+)'|\\(?:o|g|gx|w|out)\s*\|\s*([^\n]+)/gim,
  /\\(?:o|w|out)\s+([^\s|]+)/gm,
  /\\(?:ir?|include(?:_relative)?)\s+(\S+)|\\?\bcopy\b[^;\n]*?\bfrom\s+('[^']+'|[^\s;]+)|\bpg_(?:read|ls|stat)_\w+\s*\((?:\s*('[^']*')\s*[,)])?|\blo_import\b/gim,
);
const sqliteTexts = runClient(
  /^[ \t]*\.(?:shell|system)\s+([^\n]+)|^[ \t]*\.(?:once|output|read|import)\s+["']?\|\s*([^\n"']+)/gm,
  /^[ \t]*\.(?:once|output|backup|save|clone|log)\s+(?:\w+\s+)?([^\s|]+)\s*$|\bvacuum\s+into\s+'([^']+)'|\bwritefile\s*\(\s*'([^']*)'/gim,
  /^[ \t]*\.(?:read|open|restore|load)\s+(\S+)|^[ \t]*\.import\s+(?:-\S+\s+)*(\S+)|\b(?:readfile|writefile|fsdir|lsdir|edit|load_extension)\s*\((?:\s*('[^']*')\s*[,)])?|\battach\s+(?:database\s+)?('[^']*'|\S+)/gim,
);
/** An interactive one writes a history into the home folder, or where `SQLITE_HISTORY` says. */
const sqliteShell: Handler = (argv, call, run) => {
  if (argv.some((word) => /^--?interactive$/.test(word))) run.touch("write", ANY, call);
  return sqliteTexts(argv, call, run);
};
const mysqlShell = runClient(
  /\\!\s*([^\n;]+)|(?:^|;)\s*(?:system|pager)\s+([^\n]+)/gim,
  /\boutfile\s+'([^']+)'|(?:^|;)\s*tee\s+(\S+)/gim,
  /(?:^|;)\s*(?:source|\\\.)\s+(\S+)|\binfile\s+('[^']+')|\bload_file\s*\((?:\s*('[^']*')\s*\))?/gim,
);
const gdbShell = runClient(
  /^[ \t]*(?:platform\s+)?(?:shell|!|pipe\s+[^|]*\|)\s*([^\n]+)/gm,
  undefined,
  /^[ \t]*(?:source|restore|add-symbol-file|file|core-file)\s+(\S+)|^[ \t]*(?:eval|python|py|pi|guile|gu)\b/gm,
);

const PSQL = spec(
  "-f,--file= -c,--command= -d,--dbname= -h,--host= -p,--port= -U,--username= -v,--set,--variable= " +
    "-o,--output= -L,--log-file= -P,--pset= -F,--field-separator= -R,--record-separator= -T,--table-attr=",
);
const SQLITE = spec("-init= -cmd= -separator= -newline= -nullvalue=", { single: true });
const SFTP = spec("-b= -B= -c= -D= -F= -i= -J= -l= -o= -P= -R= -S= -s= -X=");

/**
 * `psql -o '|command'` and `mysql --pager=command` pass what they print to a command; `psql -o file`
 * and `mysql --tee=file` write it.
 */
function withPipes(handler: Handler, grammar: Spec, ...options: string[]): Handler {
  return (argv, call, run) => {
    for (const value of valuesOf(readOptions(argv.slice(1), grammar), ...options)) {
      const code = /^\s*\|([^]*)$/.exec(value)?.[1];
      if (code === undefined) run.touch("write", value, call);
      else if (code !== "") run.code(code, { ...call, stdin: "", shell: call.shell.fork() });
    }
    for (const code of valuesOf(readOptions(argv.slice(1), grammar), "pager")) {
      run.code(code, { ...call, stdin: "", shell: call.shell.fork() });
    }
    return handler(argv, call, run);
  };
}

/** A handler of a program that does what the file of an option says, in its own language. */
function codeFiles(handler: Handler, grammar: Spec, option: string): Handler {
  return (argv, call, run) => {
    const program = baseName(argv[0]!);
    for (const path of valuesOf(readOptions(argv.slice(1), grammar), option)) {
      touchCode(program, path, call, run);
    }
    // Its input is code as well.
    if (call.source && call.stdin === ANY) touchCode(program, call.source, call, run);
    return handler(argv, call, run);
  };
}

/** A handler of a program for which a known input means the same as this option. */
function withInput(handler: Handler, option: string): Handler {
  return (argv, call, run) => {
    if (call.stdin !== "" && isStatic(call.stdin)) {
      run.note([argv[0]!, option, call.stdin], call);
    }
    return handler(argv, call, run);
  };
}

/** Programs with a handler, because a row cannot describe them. */
export const SPECIALS: Record<string, Handler> = {
  ...forNames(
    "sh bash dash zsh ksh ksh93 mksh ash rbash yash fish csh tcsh osh nu elvish xonsh",
    runShell,
  ),
  cmd: runCmd,
  nix: runNix,
  setarch: (argv, call, run) => {
    const [first] = splitCommand(argv.slice(1), WRAPPERS.setarch!.grammar, 1).parsed.operands;
    const named = first === undefined || !isStatic(first) || ARCHITECTURE.test(first);
    const skip = named ? 1 : 0;
    return runWrapper({ ...WRAPPERS.setarch!, skip }, argv.slice(1), call, run);
  },
  gate: runGate,
  "scenario-tool": runGate,
  rails: runCodeOf("ruby", /^(runner|r)$/),
  mix: runCodeOf("elixir", /^(run|eval|cmd)$/),
  apt: withSettings(copies, aptCommand),
  "apt-get": withSettings(copies, aptCommand),
  xargs: runXargs,
  gxargs: runXargs,
  ssh: withSettings((argv, call, run) => runWrapper(WRAPPERS.ssh!, argv.slice(1), call, run)),
  scp: withSettings(copies),
  rsync: runRsync,
  sftp: withSettings(codeFiles(copies, SFTP, "b")),
  less: runPager,
  more: runPager,
  find: runFind,
  gfind: runFind,
  fd: runFd,
  fdfind: runFd,
  parallel: runParallel,
  git: runGit,
  hub: (argv, call, run) => run.command(["git", ...argv.slice(1)], call),
  make: runMake,
  gmake: runMake,
  ...forNames("npm pnpm yarn", runNodeManager),
  bun: (argv, call, run) => {
    runDeno(argv, call, run);
    return runNodeManager(argv, call, run);
  },
  deno: runDeno,
  sed: runSed,
  gsed: runSed,
  ...forNames("awk gawk mawk nawk", runAwk),
  ...forNames("jq gojq jaq yq", runQuery),
  ...forNames("ed ex vi vim nvim emacs", runEditor),
  ...forNames("apply_patch applypatch", runApplyPatch),
  patch: runPatch,
  psql: withInput(codeFiles(withPipes(psqlShell, PSQL, "output", "log-file"), PSQL, "file"), "-c"),
  ...forNames("7z 7za 7zr 7zz", runSevenZip),
  ...forNames(
    "mysql mariadb",
    withInput(withPipes(mysqlShell, spec("--pager= --tee="), "tee"), "-e"),
  ),
  ...forNames("sqlite3 sqlite", codeFiles(sqliteShell, SQLITE, "init")),
  gdb: runDebugger,
  lldb: runDebugger,
  at: runLater,
  batch: runLater,
  crontab: runCrontab,
  date: runDate,
  capsh: runCapsh,
  schtasks: runScheduled,
  "schtasks.exe": runScheduled,
  ...forNames("tar gtar bsdtar", runTar),
  dd: runDd,
  socat: runSocat,
};

/** Programs whose handler accounts for each of their words. */
export const FOLLOWED = new Set(
  ("sh bash dash zsh ksh ash mksh rbash yash sed gsed awk gawk mawk nawk find gfind fd fdfind xargs gxargs parallel ssh " +
    "git hub setarch").split(" "),
);

const ARCHITECTURE =
  /^(x86_64|amd64|i[3-6]86|linux(32|64)|uname26|aarch64|arm\w*|ppc\w*|s390x?|mips\w*|riscv\w*|sparc\w*|alpha|ia64)$/;

/** `nix run nixpkgs#name -- …`: supposes a program with the package's name. */
function runNix(argv: readonly string[], call: Call, run: Runner): string {
  const at = argv.indexOf("run");
  const name = argv.slice(at + 1).find((arg) => !arg.startsWith("-"))?.split("#").at(-1);
  const dashes = argv.indexOf("--");
  if (at > 0 && name !== undefined && dashes > at) {
    run.command([baseName(name), ...argv.slice(dashes + 1)], {
      ...call,
      supposed: true,
      stdin: "",
    });
  }
  return runProgram("nix", argv, call, run);
}

const CALLS = /\b(system|popen|exec[lv]\w*|posix_spawn\w*)\s*\(/;

/** `gdb --args program …`, `shell` commands and Python code in its options. */
function runDebugger(argv: readonly string[], call: Call, run: Runner): string {
  for (const [at, arg] of argv.entries()) {
    if (/^-?-(ex|eval-command|o|one-line)$/.test(argv[at - 1] ?? "") && CALLS.test(arg)) {
      searchCode(arg, languageOf("python")!, call, run);
      run.doubt("the debugger calls a function that runs a program", arg.slice(0, 200), call);
    }
    const code = /^\s*(?:python|py|script|pi)\s+([\s\S]+)$/.exec(arg)?.[1];
    if (code !== undefined) searchCode(code, languageOf("python")!, call, run);
  }
  const at = argv.findIndex((arg) => arg === "--args" || arg === "--");
  if (at > 0) run.command(argv.slice(at + 1), call);
  return gdbShell(argv, call, run);
}

/** `capsh … -- …`: passes the rest to a shell. */
function runCapsh(argv: readonly string[], call: Call, run: Runner): string {
  const at = argv.indexOf("--");
  return at < 0 ? ANY : runShell(["bash", ...argv.slice(at + 1)], call, run);
}

/** `schtasks /create /tr command`. */
function runScheduled(argv: readonly string[], call: Call, run: Runner): string {
  const at = argv.findIndex((arg) => /^[/-]tr$/i.test(arg));
  if (at < 0) return ANY;
  return run.code(argv[at + 1] ?? ANY, { ...call, stdin: "", shell: call.shell.fork() });
}

const TAR = spec(
  "-c,--create -x,--extract,--get -t,--list -r,--append -u,--update -A -d,--diff --delete -f,--file= -C,--directory= " +
    "-I,--use-compress-program= --to-command= --checkpoint-action= --checkpoint=? -F,--info-script,--new-volume-script= " +
    "--rsh-command= --rmt-command= -T,--files-from= -X,--exclude-from= --exclude= --strip-components= --transform= " +
    "-g= -b= -H= -K= -L= -N= -V= --owner= --group= --mode= --mtime= -z -j -J -Z -a -v -p -P,--absolute-names -k -m -O,--to-stdout -S -h -w -W --zstd",
);

function runTar(argv: readonly string[], call: Call, run: Runner): string {
  const parsed = readOptions(oldStyle(argv.slice(1)), TAR);
  for (
    const code of valuesOf(
      parsed,
      "use-compress-program",
      "to-command",
      "new-volume-script",
      "rsh-command",
      "rmt-command",
    )
  ) {
    run.code(code, { ...call, stdin: "", shell: call.shell.fork() });
  }
  for (const action of valuesOf(parsed, "checkpoint-action")) {
    if (action.startsWith("exec=")) run.code(action.slice(5), { ...call, stdin: "" });
    else if (isWild(action)) run.doubt("the program that tar runs is unknown", show(action), call);
  }
  const extracts = has(parsed, "get");
  const op = has(parsed, "create", "append", "update", "delete") ? "write" : "read";
  for (const archive of valuesOf(parsed, "file")) {
    if (archive !== "-" && !/^[\w.@-]+:/.test(archive)) run.touch(op, archive, call);
  }
  const folders = valuesOf(parsed, "directory");
  if (extracts && !has(parsed, "to-stdout")) {
    for (const folder of folders) run.touch("write", folder, call);
    if (has(parsed, "absolute-names")) {
      run.doubt("the archive may write to any place of the machine", call.text, call);
    }
  }
  if (has(parsed, "create", "append", "update")) {
    for (const path of parsed.operands) run.touch("read", path, call, { implied: true });
    const starts = folders.length > 0 ? folders.map((folder) => `${folder}/`) : [""];
    const paths = starts.flatMap((start) => parsed.operands.map((path) => `${start}${path}`));
    touchBelow(paths, tarReach(argv.slice(1), parsed), call, run);
    for (const path of valuesOf(parsed, "files-from")) {
      if (path !== "-") run.touch("read", path, call);
      touchListed(path, call, run, { starts });
    }
  }
  return ANY;
}

/** `tar czf x.tgz`: the first word without a dash contains the options; their values follow. */
function oldStyle(args: readonly string[]): string[] {
  const [first, ...rest] = args;
  if (first === undefined || !/^[A-Za-z]+$/.test(first)) return [...args];
  const values = [...first].filter((letter) => TAR.short.get(letter)?.value === "required");
  const plain = [...first].filter((letter) => !values.includes(letter));
  const pairs = values.flatMap((letter, at) => [`-${letter}`, rest[at] ?? ""]);
  return [
    ...(plain.length > 0 ? [`-${plain.join("")}`] : []),
    ...pairs,
    ...rest.slice(values.length),
  ];
}

/** `7z a archive folder`: packs what is below the folder. */
function runSevenZip(argv: readonly string[], call: Call, run: Runner): string {
  const [verb = "", , ...packed] = argv.slice(1).filter((arg) => !arg.startsWith("-"));
  if (/^[au]$/.test(verb)) {
    touchBelow(packed, { ...EVERYTHING, links: true, vague: true }, call, run);
  }
  return copies(argv, call, run);
}

/** `rsync -f '. file'`: a rule that takes further rules from a file. */
function runRsync(argv: readonly string[], call: Call, run: Runner): string {
  for (const rule of valuesOf(readOptions(argv.slice(1), ROWS.rsync!.grammar), "filter")) {
    const file = /^(?:merge|dir-merge|[.:])(?:,\S*|[-+CenwsrpxC]*)[ _]+(\S+)$/.exec(rule)?.[1];
    if (file !== undefined) run.touch("read", file, call);
  }
  return copies(argv, call, run);
}

/** `patch`, which changes the files that its patch names, also without operands. */
function runPatch(argv: readonly string[], call: Call, run: Runner): string {
  const parsed = readOptions(argv.slice(1), ROWS.patch!.grammar);
  const [given] = [...valuesOf(parsed, "input"), ...parsed.operands.slice(1)];
  if (!has(parsed, "dry-run")) {
    touchPatch(given ?? null, call, run, valuesOf(parsed, "directory"));
  }
  return copies(argv, call, run);
}

function runDd(argv: readonly string[], call: Call, run: Runner): string {
  for (const arg of argv.slice(1)) {
    const [, name, path] = /^(if|of)=([\s\S]*)$/.exec(arg) ?? [];
    if (name && path) run.touch(name === "if" ? "read" : "write", path, call);
    if (name === "of" && !argv.some((one) => one.startsWith("if="))) {
      call.shell.files.set(absolutePath(path!, call.shell.cwd), call.stdin);
    }
  }
  return ANY;
}

function runSocat(argv: readonly string[], call: Call, run: Runner): string {
  for (const arg of argv.slice(1)) {
    const code = /^(?:EXEC|SYSTEM|SHELL):("?)(.*?)\1(?:,[\w=,]*)?$/i.exec(arg)?.[2];
    if (code) run.code(code, { ...call, stdin: ANY });
    const file = /^(?:OPEN|CREATE|FILE|GOPEN):([^,]+)/i.exec(arg)?.[1];
    if (file) run.touch("write", file, call);
  }
  return ANY;
}

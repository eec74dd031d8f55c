import { EVERYTHING } from "../below.ts";
import { ANY, isStatic } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";
import { isHarmlessVariable } from "../prove/names.ts";
import { checkVariable } from "./environment.ts";
import { touchWord } from "./operands.ts";
import { touchBelow, touchFolders } from "./recursion.ts";
import { forNames, has, type Parsed, type Spec, spec, splitCommand, valuesOf } from "./options.ts";

/** A program that runs another one: where its arguments contain that command. */
export interface Wrapper {
  grammar: Spec;
  /** The number of operands before the command: a time, a host, a container. */
  skip: number;
  /** `NAME=value` may come before the command. */
  assigns: boolean;
  /** It writes its first operand. */
  writesFirst: boolean;
  /** Options whose value is shell code. */
  code: string[];
  /** A shell runs the joined words. */
  joined: boolean;
  /** Each operand is shell code. */
  each: boolean;
  /** It runs on another machine or in a container, so its files do not count. */
  remote: boolean;
  /** It only starts the command, so no allow rule has to name it. */
  passive: boolean;
  /** Options that make it run nothing. */
  unless: string[];
  /** Options whose value is the program; the operands are its arguments. */
  program: string[];
  /** Options whose value is split into the first words of the command. */
  splits: string[];
  /** Without a command, its standard input is shell code. */
  reads: boolean;
  /** Options that make a shell run the joined words. */
  shellWith: string[];
  /** Options that make it run the words as they are, without a shell. */
  plainWith: string[];
  /** Options whose value is the folder to run in. */
  folder: string[];
  /** Options that change which program a name means, or the name that the program sees. */
  renames: string[];
  /** Options whose value is an output file. */
  writes: string[];
  /** Options that give a file or a folder of this machine to the container. */
  mounts: string[];
  /** Options whose words name files and folders that it takes to the other machine. */
  sends: string[];
}

const PLAIN: Omit<Wrapper, "grammar"> = {
  skip: 0,
  assigns: false,
  writesFirst: false,
  code: [],
  joined: false,
  each: false,
  remote: false,
  passive: false,
  unless: [],
  program: [],
  splits: [],
  reads: false,
  shellWith: [],
  plainWith: [],
  folder: [],
  renames: [],
  writes: [],
  mounts: [],
  sends: [],
};

/** One row of the tables: the options as in `spec`, and the differences from a plain wrapper. */
export function wrapper(
  options: string,
  how: Partial<Wrapper> & { posix?: boolean } = {},
): Wrapper {
  return { ...PLAIN, ...how, grammar: spec(options, { posix: how.posix }) };
}

/** Whether a wrapper has no command to start, so that it acts itself: `env` alone prints all variables. */
export function startsNothing(row: Wrapper, args: readonly string[]): boolean {
  const { parsed, rest } = splitCommand(args, row.grammar, row.skip);
  const words = row.assigns ? rest.filter((word) => !word.includes("=")) : rest;
  return words.length === 0 && !row.reads &&
    valuesOf(parsed, ...row.code, ...row.splits, ...row.program).length === 0;
}

/** Runs the command in a wrapper's arguments and returns its output. */
export function runWrapper(
  row: Wrapper,
  args: readonly string[],
  call: Call,
  run: Runner,
): string {
  const { parsed, rest } = splitCommand(args, row.grammar, row.skip);
  if (has(parsed, ...row.unless)) return ANY;
  for (const { value } of parsed.options.slice(0, 12)) {
    if (value !== null && isStatic(value) && !/\s/.test(value)) {
      run.touch("read", value, call, { implied: true });
    }
  }
  for (const operand of parsed.operands) {
    // `flock file command` creates the file, wherever it is.
    const how = { implied: true, unexplained: true, undescribed: true };
    if (!row.remote) run.touch("read", operand, call, how);
  }
  if (has(parsed, ...row.renames)) {
    run.doubt("this changes which program a name means", args.join(" "), call);
  }
  const inner: Call = { ...call, remote: call.remote || row.remote };
  const [first] = row.writesFirst ? [...parsed.operands, ...rest] : [];
  for (const path of [...valuesOf(parsed, ...row.writes), ...first ? [first] : []]) {
    run.touch("write", path, call);
  }
  for (const value of valuesOf(parsed, ...row.mounts)) touchMount(value, call, run);
  for (const value of valuesOf(parsed, ...row.sends)) {
    const words = value.split(/\s+/);
    for (const word of words) touchWord(word, call, run);
    touchFolders(words, call, run);
  }
  for (const code of valuesOf(parsed, ...row.code)) run.code(code, fork(inner));
  const shell = inner.shell.fork();
  for (const path of valuesOf(parsed, ...row.folder)) shell.cwd = folder(path, shell.cwd);
  const words = commandOf(row, parsed, rest, { ...inner, shell }, run);
  if (row.each) {
    for (const code of words) run.code(code, { ...inner, shell: shell.fork() });
    return ANY;
  }
  if (words.length > 0) {
    return row.joined && !has(parsed, ...row.plainWith) || has(parsed, ...row.shellWith)
      ? run.code(words.join(" "), { ...inner, shell })
      : run.command(words, { ...inner, shell });
  }
  const reads = row.reads || has(parsed, ...row.shellWith);
  return reads && valuesOf(parsed, ...row.code).length === 0
    ? run.code(inner.stdin, { ...inner, shell, stdin: "" })
    : ANY;
}

/**
 * `-v folder:/place:ro` and `--mount type=bind,source=folder,target=/place`: the container reads what
 * is below the folder, and may write there.
 */
function touchMount(value: string, call: Call, run: Runner): void {
  const fields = new Map(value.split(",").map(cut));
  const [from = "", to, mode = ""] = value.split(":");
  const is_named = fields.has("type") || fields.has("target") || fields.has("dst");
  const source = is_named ? fields.get("source") ?? fields.get("src") : to && from;
  // Without a slash or a dot it is the name of a volume.
  const is_volume = is_named
    ? (fields.get("type") ?? "volume") !== "bind"
    : /^\w[\w-]*$/.test(from);
  if (!source || is_volume) return;
  run.touch("read", source, call, { implied: true });
  touchBelow([source], { ...EVERYTHING, vague: true }, call, run);
  const reads = fields.has("readonly") || fields.has("ro") || /(^|,)ro(,|$)/.test(mode);
  if (!reads) run.touch("write", source, call, { guessed: true });
}

function commandOf(
  row: Wrapper,
  parsed: Parsed,
  rest: string[],
  call: Call,
  run: Runner,
): string[] {
  const split = valuesOf(parsed, ...row.splits).flatMap((text) =>
    isStatic(text)
      ? text.split(/\s+/).filter(Boolean).map((word) => word.replace(/['"]/g, ""))
      : [ANY]
  );
  const programs = valuesOf(parsed, ...row.program).flatMap((text) => text.split(/\s+/));
  const words = [...programs, ...split, ...rest];
  // env accepts any name, even that of "=1", and runs the words after it.
  while (row.assigns && words[0]?.includes("=")) {
    const [name, value] = cut(words.shift()!);
    checkVariable(name, value, call, run);
    // As before a program without `env`: it may change what the program loads.
    if (!isHarmlessVariable(name, value)) run.note([`${name}=${value}`], call);
    call.shell.assign(name, [value]);
  }
  return words;
}

function cut(assignment: string): [string, string] {
  const at = assignment.indexOf("=");
  if (at < 0) return [assignment, ""];
  return [assignment.slice(0, at), assignment.slice(at + 1)];
}

function fork(call: Call): Call {
  return { ...call, shell: call.shell.fork() };
}

function folder(path: string, cwd: string): string {
  return path.startsWith("/") ? path : `${cwd}/${path}`;
}

const passive = true;
const remote = true;
const joined = true;
const assigns = true;

const trace = wrapper(
  "-o,--output= -e,--trace= -p,--attach= -s,--string-limit= -u,--user= -P= -a,--columns= -E,--env= " +
    "-b= -I= -O= -S= -U= -X= -l= -n= -A= -D,--daemonize=? -x= -f -ff -c -C -d -h -i -k -q -r -t -T -v -V -w -y -z -Z",
  { writes: ["output"], passive },
);

const sudo = wrapper(
  "-u,--user= -g,--group= -h,--host= -p,--prompt= -C,--close-from= -T,--command-timeout= -t,--type= " +
    "-r,--role= -R,--chroot= -D,--chdir= -U,--other-user= -A,--askpass -b,--background -E -e,--edit " +
    "-H,--set-home -i,--login -K -k -l,--list -n,--non-interactive -P -S,--stdin -s,--shell -v,--validate -V -N -B",
  { assigns, shellWith: ["shell", "login"], folder: ["chdir"], unless: ["list", "validate"] },
);

const arch = wrapper("-R -B -F -I -L -S -T -X -Z -3 -v --uname-2.6", { skip: 1, passive });
const plain = wrapper("");
const passivePlain = wrapper("", { passive });
const each = wrapper(
  "-n,--names= -c,--prefix-colors= -p,--prefix= -t= -l= -i= --name-separator= --restart-tries= " +
    "--restart-after= -m,--max-processes= --handle-input -k,--kill-others -s,--success= -r -g",
  { each: true },
);

/** Programs that run another program, one row each. */
export const WRAPPERS: Record<string, Wrapper> = {
  sudo,
  "sudo-rs": sudo,
  doas: wrapper("-u= -C= -a= -L -n -s", { shellWith: ["s"], reads: false }),
  pkexec: wrapper("--user= --disable-internal-agent --keep-cwd"),
  gosu: wrapper("", { skip: 1 }),
  "su-exec": wrapper("", { skip: 1 }),
  su: wrapper(
    "-c,--command= --session-command= -g,--group= -G= -s,--shell= -w,--whitelist-environment= " +
      "-l,--login -m -p,--preserve-environment -P,--pty -f -T",
    { skip: 2, code: ["command", "session-command"], reads: true },
  ),
  runuser: wrapper("-u,--user= -c,--command= -g= -G= -s,--shell= -l,--login -m -p -P -w=", {
    code: ["command"],
  }),
  setpriv: wrapper(
    "--reuid= --regid= --groups= --inh-caps= --ambient-caps= --bounding-set= --securebits=",
  ),
  runcon: wrapper("-c -t= -u= -r= -l=", { skip: 1 }),
  capsh: wrapper("--print --drop= --caps= --user= -c="),
  env: wrapper(
    "-i,--ignore-environment -0,--null -u,--unset= -C,--chdir= -S,--split-string= -v,--debug -P= " +
      "--block-signal=? --default-signal=? --ignore-signal=? -a,--argv0=",
    { assigns, passive, splits: ["split-string"], folder: ["chdir"] },
  ),
  msgfilter: wrapper(
    "-i,--input= -o,--output-file= -D= -P -C,--properties-input --stringtable-input --no-escape --indent --keep-header",
    { writes: ["output-file"] },
  ),
  "cross-env": wrapper("", { assigns, passive }),
  "cross-env-shell": wrapper("", { assigns, joined, passive }),
  dotenv: wrapper("-e= -v= -c -o -p= -f,--file= -q= --debug", { passive }),
  "dotenv-cli": wrapper("-e= -v= -c -o -p=", { passive }),
  "env-cmd": wrapper("-f,--file= -e,--environments= -r= --use-shell -x", { passive }),
  exec: wrapper("-a= -c -l", { passive, renames: ["a", "c", "l"] }),
  command: wrapper("-p -v -V", { passive, unless: ["v", "V"], renames: ["p"] }),
  builtin: wrapper("", { passive }),
  ...forNames("noglob nocorrect nohup ts catchsegv eatmydata torsocks torify", passivePlain),
  // Words of zsh and fish that start a command.
  ...forNames("and or not begin", passivePlain),
  repeat: wrapper("", { skip: 1, passive }),
  time: wrapper("-p -f,--format= -o,--output= -a -v -q", { passive, writes: ["output"] }),
  gtime: wrapper("-p -f,--format= -o,--output= -a -v -q", { passive, writes: ["output"] }),
  setsid: wrapper("-c,--ctty -f,--fork -w,--wait", { passive }),
  nice: wrapper("-n,--adjustment=", { passive }),
  ionice: wrapper("-c,--class= -n,--classdata= -p,--pid= -P= -u= -t,--ignore", { passive }),
  chrt: wrapper("-a -b -d -f -i -m -o -p -r -R -v -T= -P= -D=", { skip: 1, passive }),
  taskset: wrapper("-a,--all-tasks -p,--pid -c,--cpu-list", { skip: 1, passive }),
  uclampset: wrapper("-a -m= -M= -p= -s -v", { passive }),
  numactl: wrapper(
    "-i,--interleave= -N,--cpunodebind= -C,--physcpubind= -m,--membind= -l -p,--preferred=",
  ),
  prlimit: wrapper(
    "--nofile= --nproc= --as= --core= --cpu= --data= --fsize= -p,--pid= -o,--output=",
  ),
  cpulimit: wrapper("-l,--limit= -e,--exe= -p,--pid= -z -i -v -f"),
  choom: wrapper("-n,--adjust= -p,--pid="),
  timeout: wrapper("-k,--kill-after= -s,--signal= --foreground --preserve-status -v -f -p", {
    skip: 1,
    passive,
  }),
  gtimeout: wrapper("-k,--kill-after= -s,--signal= --foreground --preserve-status -v", {
    skip: 1,
    passive,
  }),
  stdbuf: wrapper("-i,--input= -o,--output= -e,--error=", { passive }),
  unbuffer: wrapper("-p", { passive }),
  chronic: wrapper("-v -e", { passive }),
  rlwrap: wrapper(
    "-a= -b= -c -C= -D= -e= -f= -H= -i -I -l= -m= -M= -n -N -o -O= -p= -P= -q= -r -s= -S= -t= -z=",
  ),
  faketime: wrapper("-f -m -p=", { skip: 1, passive }),
  fakeroot: wrapper("-l,--lib= --faked= -s= -i= -u,--unknown-is-real -b=", { passive }),
  fakechroot: wrapper("-l,--lib= -e= -c= -b=", { passive }),
  "xvfb-run": wrapper(
    "-a,--auto-servernum -e,--error-file= -f,--auth-file= -n,--server-num= -p,--xauth-protocol= " +
      "-s,--server-args= -w,--wait= -l,--listen-tcp",
    { writes: ["error-file", "auth-file"], passive },
  ),
  "dbus-run-session": wrapper("--config-file= --dbus-daemon=", { passive }),
  caffeinate: wrapper("-d -i -m -s -u -t= -w=", { passive }),
  winpty: wrapper("-X= --mouse", { passive }),
  screen: wrapper(
    "-S= -p= -d -m -D -r -R -x -X= -L -T= -c= -e= -h= -t= -U -q -a -A -i -l -O -s= -w -ls",
    { shellWith: ["X"] },
  ),
  strace: trace,
  ltrace: wrapper(
    "-o,--output= -e= -p= -s= -u= -a,--align= -A= -D,--debug= -F,--config= -l,--library= -n,--indent= " +
      "-w,--where= -x= -b -c -C -f -h -i -L -r -S -t -T -V",
    { writes: ["output"], passive },
  ),
  dtruss: trace,
  gdb: wrapper("--args -ex= -x= -p= -q -batch", { code: [] }),
  valgrind: wrapper(
    "--tool= --log-file= --xml-file= --massif-out-file= --callgrind-out-file= --cachegrind-out-file= " +
      "--dhat-out-file= --xtree-memory-file= --xtree-leak-file= -q -v",
    {
      writes: [
        ...["log-file", "xml-file", "massif-out-file", "callgrind-out-file", "cachegrind-out-file"],
        ...["dhat-out-file", "xtree-memory-file", "xtree-leak-file"],
      ],
      passive,
    },
  ),
  perf: wrapper("-o,--output= -e= -F= -p= -g -a", { skip: 1, writes: ["output"] }),
  chroot: wrapper("--groups= --userspec= --skip-chdir", { skip: 1, remote }),
  unshare: wrapper(
    "-m,--mount=? -u,--uts=? -i,--ipc=? -n,--net=? -p,--pid=? -U,--user=? -C,--cgroup=? -T,--time=? " +
      "-f,--fork -r,--map-root-user -c --mount-proc=? --propagation= -R,--root= -w,--wd= -S= -G= --setgroups= --kill-child=?",
  ),
  nsenter: wrapper(
    "-a,--all -t,--target= -m,--mount=? -u,--uts=? -i,--ipc=? -n,--net=? -p,--pid=? -U,--user=? " +
      "-C,--cgroup=? -T,--time=? -S= -G= -r,--root=? -w,--wd=? -F -Z",
  ),
  bwrap: wrapper("--unshare-all --die-with-parent --new-session --chdir= --dev= --proc= --tmpfs="),
  firejail: wrapper("--profile= --private=? --net="),
  "systemd-run": wrapper(
    "-u,--unit= -p,--property= -M,--machine= -H,--host= --uid= --gid= -E,--setenv= -d -t,--pty -P -q " +
      "--slice= --description= --on-active= --on-boot= --on-calendar= --timer-property= " +
      "--working-directory= --nice= -S,--shell -r -G --scope --user --system --wait --no-block",
  ),
  "systemd-inhibit": wrapper("--what= --who= --why= --mode=", { passive }),
  setarch: arch,
  ...forNames(
    "linux32 linux64 i386 x86_64",
    wrapper("-R -B -F -I -L -S -T -X -Z -3 -v", { passive }),
  ),
  flock: wrapper(
    "-s,--shared -x,--exclusive -u -n,--nonblock -w,--timeout= -o -E= -F -c,--command= -v",
    { skip: 1, code: ["command"], passive },
  ),
  lockf: wrapper("-k -n -s -t=", { skip: 1, passive }),
  busybox: plain,
  toybox: plain,
  script: wrapper(
    "-c,--command= -a,--append -e,--return -f,--flush -q,--quiet -t,--timing=? -O,--log-out= -I,--log-in= -B= -E= -o= -T,--log-timing= -m=",
    { skip: 1, code: ["command"], writesFirst: true, writes: ["log-out", "log-timing", "B"] },
  ),
  watch: wrapper(
    "-n,--interval= -d,--differences=? -t -b -e -g -c -p -q,--equexit= -x,--exec -w -C -r -s,--shotsdir=",
    { joined, plainWith: ["exec"] },
  ),
  entr: wrapper("-a -c -d -n -p -r -s -x -z", { shellWith: ["s"] }),
  watchexec: wrapper(
    "-e,--exts= -w,--watch= -i,--ignore= -f,--filter= -r -c=? -n -N -p -q -s,--signal= -d,--debounce= --shell=",
    { joined },
  ),
  nodemon: wrapper("-x,--exec= -e,--ext= -w,--watch= -i,--ignore= -d,--delay= -V -q -L", {
    code: ["exec"],
  }),
  chokidar: wrapper("-c,--command= -d= -t= -i= -p", { skip: 9, code: ["command"] }),
  onchange: wrapper("-i -e= -k -d= -j= -o= -p="),
  concurrently: each,
  hyperfine: wrapper(
    "-w,--warmup= -r,--runs= -m= -M= -p,--prepare= -c,--cleanup= -s,--setup= -P= -L= -n= -S= " +
      "--export-json= --export-markdown= --export-csv= --export-asciidoc= --export-orgmode=",
    {
      each: true,
      code: ["prepare", "cleanup", "setup"],
      writes: ["json", "markdown", "csv", "asciidoc", "orgmode"].map((kind) => `export-${kind}`),
    },
  ),
  "start-server-and-test": wrapper("", { each: true }),
  sem: wrapper("-j= --id= --fg --bg --wait", { joined }),
  rush: wrapper("-j,--jobs= -i,--infile= -d,--delimiter= -D= -n= -t= -v= -o= -r= -k -e -c", {
    joined,
  }),
  ssh: wrapper(
    "-B= -b= -c= -D= -E= -e= -F= -I= -i= -J= -L= -l= -m= -O= -o= -p= -Q= -R= -S= -W= -w= " +
      "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
    { skip: 1, joined, remote, reads: true },
  ),
  mosh: wrapper("--ssh= --server= -p=", { skip: 1, remote, code: ["ssh"] }),
  autossh: wrapper("-M= -f -N -L= -R= -D= -i= -p= -o= -l= -T -t", { skip: 1, joined, remote }),
  rsh: wrapper("-l= -n", { skip: 1, joined, remote }),
  pdsh: wrapper("-w= -x= -l= -f= -R=", { joined, remote }),
  sshpass: wrapper("-p= -f= -d= -e -P= -v"),
  proxychains: wrapper("-q -f=", { passive }),
  proxychains4: wrapper("-q -f=", { passive }),
  wsl: wrapper("-d,--distribution= -u,--user= --cd= -e,--exec --system --shell-type=", { remote }),
  "wsl.exe": wrapper("-d,--distribution= -u,--user= --cd= -e,--exec --system", { remote }),
  "start-stop-daemon": wrapper(
    "-S,--start -K,--stop -x,--exec= -a,--startas= -p,--pidfile= -c,--chuid= -u= -g= -n,--name= -b -m -d,--chdir= -q -v -o -t",
    { program: ["exec"] },
  ),
  daemonize: wrapper("-a -c= -e= -o= -p= -l= -u= -v -E="),
  npx: wrapper("-y,--yes -q -p,--package= -c,--call= --no --no-install -w= --prefix=", {
    code: ["call"],
    passive,
  }),
  bunx: wrapper("--bun -y", { passive }),
  pnpx: wrapper("-p,--package= -c,--shell-mode", { passive }),
  "nix-shell": wrapper("-p -A= -I= -E= --run= --command= --pure --packages", {
    skip: 99,
    code: ["run", "command"],
  }),
  ansible: wrapper(
    "-a,--args= -m,--module-name= -i,--inventory= -u,--user= -b,--become -K -k -l,--limit= -f,--forks= -e,--extra-vars= -o -t= -c= -T= -v",
    { skip: 99, code: ["args"], remote, sends: ["args"] },
  ),
  parallelssh: wrapper("-h= -H= -l= -p= -t= -i", { joined, remote }),
};

/** A program with subcommands that run another program. */
interface Group {
  options: Spec;
  rows: Record<string, Wrapper | Group>;
}

const group = (options: string, rows: Group["rows"]): Group => ({
  options: spec(options, { posix: true }),
  rows,
});

const any = wrapper("");
const run = wrapper("", { passive });

const containerExec = wrapper(
  "-d,--detach -e,--env= --env-file= -i,--interactive -t,--tty -T -u,--user= -w,--workdir= --privileged --detach-keys= --index=",
  { skip: 1, remote, posix: true },
);

const containerRun = wrapper(
  "-a,--attach= --add-host= --annotation= --cap-add= --cap-drop= --cgroupns= --cidfile= --cpus= -c,--cpu-shares= " +
    "--cpuset-cpus= -d,--detach --detach-keys= --device= --dns= --dns-search= --domainname= --entrypoint= " +
    "-e,--env= --env-file= --expose= --gpus= --group-add= --health-cmd= --health-interval= -h,--hostname= --init " +
    "-i,--interactive --ip= --ipc= --isolation= -l,--label= --label-file= --link= --log-driver= --log-opt= " +
    "--mac-address= -m,--memory= --memory-swap= --mount= --name= --network= --net= --network-alias= --no-healthcheck " +
    "--oom-score-adj= --pid= --pids-limit= --platform= --privileged -p,--publish= -P,--publish-all --pull= -q,--quiet " +
    "--read-only --restart= --rm --runtime= --security-opt= --shm-size= --stop-signal= --stop-timeout= --sysctl= " +
    "--tmpfs= -t,--tty --ulimit= -u,--user= --userns= --uts= -v,--volume= --volumes-from= -w,--workdir= " +
    "-T,--no-TTY --no-deps --service-ports --use-aliases",
  {
    skip: 1,
    remote,
    posix: true,
    program: ["entrypoint"],
    mounts: ["volume", "mount"],
    writes: ["cidfile"],
  },
);

const containers = { exec: containerExec, run: containerRun, create: containerRun };

const compose = group(
  "-f,--file= -p,--project-name= --profile= --env-file= --project-directory= --ansi= --progress= --parallel=",
  containers,
);

const docker = group(
  "--config= -c,--context= -D,--debug -H,--host= -l,--log-level= --tls --tlscacert= --tlscert= --tlskey=",
  { ...containers, container: group("", containers), compose },
);

const kubeExec = wrapper(
  "-c,--container= -i,--stdin -t,--tty -n,--namespace= --context= --kubeconfig= -f= -q,--quiet --pod-running-timeout=",
  { skip: 1, remote },
);

const kubectl = group(
  "-n,--namespace= --context= --kubeconfig= --cluster= --user= -s,--server= --as= --token=",
  {
    exec: kubeExec,
    rsh: kubeExec,
    debug: kubeExec,
    run: wrapper(
      "--image= -i,--stdin -t,--tty --rm --restart= -n,--namespace= --env= -l= --command --attach",
      { skip: 1, remote },
    ),
  },
);

const scripted = wrapper("-c,--command= -n= -p= --no-capture-output --cwd=", { code: ["command"] });
const skipOne = wrapper("", { skip: 1, passive });

/** Programs whose subcommands run another program, one row each. */
export const SUBWRAPPERS: Record<string, Group> = {
  docker,
  podman: docker,
  nerdctl: docker,
  "docker-compose": compose,
  "podman-compose": compose,
  kubectl,
  oc: kubectl,
  k3s: group("", { kubectl }),
  minikube: group("-p=", { ssh: wrapper("-n=", { joined: true, remote }), kubectl }),
  poetry: group("-C= -P= -q -v -n", { run }),
  pipenv: group("", { run }),
  pdm: group("-p=", { run }),
  hatch: group("-e= -p=", { run, "env": group("", { run }) }),
  rye: group("", { run }),
  uv: group("--directory= --project=", {
    run: wrapper(
      "--with= --python= -p= --extra= --group= --env-file= --package= -m,--module= -s -q",
      { passive },
    ),
    tool: group("", { run: wrapper("--from= --with= --python=", { passive }) }),
  }),
  conda: group("", {
    run: wrapper("-n,--name= -p,--prefix= --cwd= --no-capture-output --live-stream"),
  }),
  mamba: group("", { run: wrapper("-n,--name= -p,--prefix= --cwd=") }),
  ...forNames("bundle stack cabal opam rbenv pyenv asdf", group("", { exec: run })),
  mise: group("-C= -q", {
    exec: wrapper("-c,--command= -C=", { code: ["command"], skip: 9 }),
    x: any,
  }),
  volta: group("", { run: wrapper("--node= --npm= --yarn=", { passive }) }),
  fnm: group("", { exec: wrapper("--using=", { passive }) }),
  nvm: group("", { exec: skipOne, run: skipOne }),
  direnv: group("", { exec: skipOne }),
  doppler: group("", {
    run: wrapper("--command= -p,--project= -c,--config= --scope= --mount=", { code: ["command"] }),
  }),
  op: group("", { run: wrapper("--env-file= --no-masking --account=", { passive }) }),
  chamber: group("", { exec: skipOne }),
  "aws-vault": group("", { exec: wrapper("-d= --region= -n -s", { skip: 1 }) }),
  vagrant: group("", {
    ssh: wrapper("-c,--command= -p,--plain -t,--tty", { skip: 9, code: ["command"], remote }),
  }),
  gcloud: group("--project= --account= -q", {
    compute: group("", {
      ssh: wrapper(
        "--command= --zone= --project= --tunnel-through-iap --internal-ip --ssh-flag= --container=",
        { skip: 9, code: ["command"], remote },
      ),
    }),
  }),
  az: group("", { ssh: group("", { vm: wrapper("-g= -n= --ip=", { remote }) }) }),
  heroku: group("", {
    run: wrapper("-a,--app= -r= -s= -e= -x --no-tty", { joined: true, remote }),
  }),
  ...forNames(
    "fly flyctl",
    group("-a=", {
      ssh: group("", {
        console: wrapper("-C,--command= -a,--app= -s", { code: ["command"], remote }),
      }),
    }),
  ),
  railway: group("", { run: wrapper("-s= -e=") }),
  multipass: group("", { exec: wrapper("-d= -n", { skip: 1, remote }) }),
  lxc: group("", { exec: wrapper("--cwd= --env= -t -T -n --user= --group=", { skip: 1, remote }) }),
  incus: group("", {
    exec: wrapper("--cwd= --env= -t -T -n --user= --group=", { skip: 1, remote }),
  }),
  limactl: group("", { shell: wrapper("--workdir= --shell=", { skip: 1, remote }) }),
  colima: group("-p=", { ssh: wrapper("", { remote }) }),
  distrobox: group("", { enter: wrapper("-n,--name= -e -a=", { skip: 0, remote }) }),
  toolbox: group("", { run: wrapper("-c,--container= -d= -r=", { remote }) }),
  flatpak: group("", {
    run: wrapper("--command= --branch= --arch= --filesystem= --env=", {
      skip: 1,
      program: ["command"],
    }),
  }),
  snap: group("", { run: wrapper("--shell --command=", { skip: 0 }) }),
  ip: group("-n=", { netns: group("", { exec: skipOne }) }),
  machinectl: group("-M= -H=", { shell: wrapper("--uid= -E=", { skip: 1, remote }) }),
  adb: group("-s= -t= -H= -P= -d -e", {
    shell: wrapper("-e= -n -T -t -x", { joined: true, remote }),
  }),
  nix: group("--extra-experimental-features=", {
    develop: wrapper("-c,--command", { skip: 0 }),
    shell: wrapper("-c,--command", { skip: 0 }),
  }),
  guix: group("", { shell: wrapper("-m= -C -N -D", { skip: 0 }) }),
  cargo: group("--color= --config= -Z=", {
    watch: wrapper("-s,--shell= -x,--exec= -w= -i= -d= -q -c", { code: ["shell"] }),
  }),
  lerna: group("", { exec: wrapper("--scope= --ignore= --concurrency=", { joined: true }) }),
  nx: group("", { exec: any }),
  sops: group("", {
    "exec-env": wrapper("", { skip: 1, joined: true }),
    "exec-file": wrapper("", { skip: 1, joined: true }),
  }),
  devbox: group("", { run: scripted }),
  launchctl: group("", { submit: wrapper("-l= -p= -o= -e=") }),
  tmux: group("-L= -S= -f= -c,--shell-command= -u -2", {
    "new-session": wrapper("-d -A -s= -n= -c= -t= -x= -y= -e= -F= -P", { joined: true }),
    new: wrapper("-d -A -s= -n= -c= -t= -x= -y= -e= -F= -P", { joined: true }),
    "new-window": wrapper("-d -a -b -k -n= -c= -t= -e= -F= -P", { joined: true }),
    neww: wrapper("-d -a -b -k -n= -c= -t= -e= -F= -P", { joined: true }),
    "split-window": wrapper("-d -h -v -b -f -c= -t= -l= -p= -e= -F= -P", { joined: true }),
    "respawn-pane": wrapper("-k -c= -t= -e=", { joined: true }),
    "run-shell": wrapper("-b -d= -t=", { joined: true }),
    "if-shell": wrapper("-b -F -t=", { each: true }),
    "send-keys": wrapper("-l -R -M -X -H -t= -N=", { each: true }),
    send: wrapper("-l -R -M -X -H -t= -N=", { each: true }),
  }),
};

/** Runs the command in a subcommand's arguments; null for a subcommand without a row. */
export function runSubwrapper(
  argv: readonly string[],
  group: Group,
  call: Call,
  runner: Runner,
): string | null {
  const { parsed, rest } = splitCommand(argv.slice(1), group.options, 1);
  const [name] = parsed.operands;
  const row = name !== undefined && Object.hasOwn(group.rows, name) ? group.rows[name] : undefined;
  for (const code of valuesOf(parsed, "shell-command")) runner.code(code, fork(call));
  if (!row) return null;
  if ("rows" in row) return runSubwrapper([name!, ...rest], row, call, runner);
  return runWrapper(row, rest, call, runner) ?? ANY;
}

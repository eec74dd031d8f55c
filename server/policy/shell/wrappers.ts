import { type Wrapper, wrapper } from "./wrapper.ts";

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
  "cross-env": wrapper("", { assigns, passive }),
  "cross-env-shell": wrapper("", { assigns, joined, passive }),
  dotenv: wrapper("-e= -v= -c -o -p= -f,--file= -q= --debug", { passive }),
  "dotenv-cli": wrapper("-e= -v= -c -o -p=", { passive }),
  "env-cmd": wrapper("-f,--file= -e,--environments= -r= --use-shell -x", { passive }),
  exec: wrapper("-a= -c -l", { passive }),
  command: wrapper("-p -v -V", { passive, unless: ["v", "V"] }),
  builtin: wrapper("", { passive }),
  noglob: passivePlain,
  nocorrect: passivePlain,
  time: wrapper("-p -f,--format= -o,--output= -a -v -q", { passive, writes: ["output"] }),
  gtime: wrapper("-p -f,--format= -o,--output= -a -v -q", { passive, writes: ["output"] }),
  nohup: passivePlain,
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
  ts: passivePlain,
  catchsegv: passivePlain,
  rlwrap: wrapper(
    "-a= -b= -c -C= -D= -e= -f= -H= -i -I -l= -m= -M= -n -N -o -O= -p= -P= -q= -r -s= -S= -t= -z=",
  ),
  faketime: wrapper("-f -m -p=", { skip: 1, passive }),
  fakeroot: wrapper("-l,--lib= --faked= -s= -i= -u,--unknown-is-real -b=", { passive }),
  fakechroot: wrapper("-l,--lib= -e= -c= -b=", { passive }),
  eatmydata: passivePlain,
  "xvfb-run": wrapper("-a -e= -f= -n= -p= -s,--server-args= -w= -l", { passive }),
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
  valgrind: wrapper("--tool= --log-file= -q -v", { passive }),
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
  linux32: wrapper("-R -B -F -I -L -S -T -X -Z -3 -v", { passive }),
  linux64: wrapper("-R -B -F -I -L -S -T -X -Z -3 -v", { passive }),
  i386: wrapper("-R -B -F -I -L -S -T -X -Z -3 -v", { passive }),
  x86_64: wrapper("-R -B -F -I -L -S -T -X -Z -3 -v", { passive }),
  flock: wrapper(
    "-s,--shared -x,--exclusive -u -n,--nonblock -w,--timeout= -o -E= -F -c,--command= -v",
    {
      skip: 1,
      code: ["command"],
      passive,
    },
  ),
  lockf: wrapper("-k -n -s -t=", { skip: 1, passive }),
  busybox: plain,
  toybox: plain,
  script: wrapper(
    "-c,--command= -a,--append -e,--return -f,--flush -q,--quiet -t,--timing=? -O,--log-out= -I,--log-in= -B= -E= -o= -T,--log-timing= -m=",
    { skip: 1, code: ["command"] },
  ),
  watch: wrapper(
    "-n,--interval= -d,--differences=? -t -b -e -g -c -p -q,--equexit= -x,--exec -w -C -r -s,--shotsdir=",
    { joined },
  ),
  entr: wrapper("-a -c -d -n -p -r -s -x -z", { shellWith: ["s"] }),
  watchexec: wrapper(
    "-e,--exts= -w,--watch= -i,--ignore= -f,--filter= -r -c=? -n -N -p -q -s,--signal= -d,--debounce= --shell=",
    {
      joined,
    },
  ),
  nodemon: wrapper("-x,--exec= -e,--ext= -w,--watch= -i,--ignore= -d,--delay= -V -q -L", {
    code: ["exec"],
  }),
  chokidar: wrapper("-c,--command= -d= -t= -i= -p", { skip: 9, code: ["command"] }),
  onchange: wrapper("-i -e= -k -d= -j= -o= -p="),
  concurrently: each,
  hyperfine: wrapper(
    "-w,--warmup= -r,--runs= -m= -M= -p,--prepare= -c,--cleanup= -s,--setup= -P= -L= -n= -S= --export-json= --export-markdown=",
    {
      each: true,
      code: ["prepare", "cleanup", "setup"],
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
  torsocks: passivePlain,
  torify: passivePlain,
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
    { skip: 99, code: ["args"], remote },
  ),
  parallelssh: wrapper("-h= -H= -l= -p= -t= -i", { joined, remote }),
};

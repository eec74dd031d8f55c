import { ANY } from "../holes.ts";
import type { Call, Runner } from "./call.ts";
import { type Spec, spec, splitCommand } from "./options.ts";
import { runWrapper, type Wrapper, wrapper } from "./wrapper.ts";

/** A program some of whose subcommands run another program. */
interface Group {
  options: Spec;
  rows: Record<string, Wrapper | Group>;
}

const group = (options: string, rows: Group["rows"]): Group => ({
  options: spec(options, { posix: true }),
  rows,
});

const remote = true;
const passive = true;
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
  { skip: 1, remote, posix: true, program: ["entrypoint"] },
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
      {
        skip: 1,
        remote,
      },
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
  bundle: group("", { exec: run }),
  stack: group("", { exec: run }),
  cabal: group("", { exec: run }),
  opam: group("", { exec: run }),
  rbenv: group("", { exec: run }),
  pyenv: group("", { exec: run }),
  asdf: group("", { exec: run }),
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
        {
          skip: 9,
          code: ["command"],
          remote,
        },
      ),
    }),
  }),
  az: group("", { ssh: group("", { vm: wrapper("-g= -n= --ip=", { remote }) }) }),
  heroku: group("", {
    run: wrapper("-a,--app= -r= -s= -e= -x --no-tty", { joined: true, remote }),
  }),
  fly: group("-a=", {
    ssh: group("", {
      console: wrapper("-C,--command= -a,--app= -s", { code: ["command"], remote }),
    }),
  }),
  flyctl: group("-a=", {
    ssh: group("", {
      console: wrapper("-C,--command= -a,--app= -s", { code: ["command"], remote }),
    }),
  }),
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
  tmux: group("-L= -S= -f= -u -2", {
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

/** Runs what a subcommand is given; null when this one runs nothing. */
export function runSubwrapper(
  argv: readonly string[],
  group: Group,
  call: Call,
  runner: Runner,
): string | null {
  const { parsed, rest } = splitCommand(argv.slice(1), group.options, 1);
  const [name] = parsed.operands;
  const row = name !== undefined && Object.hasOwn(group.rows, name) ? group.rows[name] : undefined;
  if (!row) return null;
  if ("rows" in row) return runSubwrapper([name!, ...rest], row, call, runner);
  return runWrapper(row, rest, call, runner) ?? ANY;
}

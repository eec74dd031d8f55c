import type { Cause } from "../facts.ts";
import { secrecyOf } from "../paths.ts";
import {
  asksHelp,
  type Call,
  type Context,
  has,
  productionOf,
  type Row,
  valuesLeftOut,
} from "./call.ts";

/** Programs that run containers. */
export const CONTAINERS: readonly Row[] = [
  [
    /^(docker|podman|nerdctl|docker-compose|podman-compose|buildah|lxc|incus|ctr|crictl)$/,
    containerCauses,
  ],
];

function containerCauses(call: Call, context: Context): Cause[] {
  const { program, argv, text } = call;
  if (asksHelp(call)) return [];
  const words = valuesLeftOut(call).filter((word) => word !== "compose" && word !== "container");
  const [verb = "", next = ""] = words;
  const causes: Cause[] = [];
  const mounts = argv.filter((word, i) =>
    /^(-v|--volume|--mount)$/.test(argv[i - 1] ?? "") || /^(-v|--volume=|--mount=)./.test(word)
  ).map((word) => word.replace(/^(-v|--volume=|--mount=)/, ""));
  if (/(docker|containerd|podman|crio)\.sock/.test(text)) {
    causes.push({
      name: "socket_mounted",
      why: `${program} gives the container the control of the container engine`,
    });
  }
  for (const mount of mounts) {
    const from = /(?:source|src)=([^,]+)/.exec(mount)?.[1] ?? mount.split(":")[0] ?? "";
    if (
      /^\/$|^\/(etc|root|boot|home|usr|var)\/?$|^(~|\$HOME|\/home\/[^/]+|\/Users\/[^/]+)\/?$/.test(
        from,
      )
    ) {
      causes.push({ name: "host_access", why: `${program} mounts "${from}" of this machine` });
      if (from === "/") {
        causes.push({
          name: "destroys_whole",
          why: "the container can change every file of this machine",
        });
      }
    } else if (secrecyOf(from.replace(/\/?$/, "/x")) !== null) {
      causes.push({
        name: "private_key_read",
        why: `${program} mounts "${from}", which holds secrets`,
      });
    }
  }
  if (
    argv.some((word, i) =>
      /^--(privileged(=true)?|cap-add.*|security-opt.*|device.*)$/.test(word) ||
      /^--(pid|net|network|ipc|userns|uts)=host$/.test(word) ||
      (word === "host" && /^--(pid|net|network|ipc|userns)$/.test(argv[i - 1] ?? ""))
    )
  ) {
    causes.push({
      name: "host_access",
      why: `${program} gives the container rights on this machine`,
    });
  }
  if (verb === "push") causes.push({ name: "publishes", why: `${program} publishes an image` });
  else if (
    /^(stack|service|swarm|node)$/.test(verb) &&
    /^(deploy|update|scale|create|rm|init|leave|rollback)$/.test(next)
  ) {
    causes.push({ name: "cloud_change", why: `${program} ${verb} ${next} changes a cluster` });
  } else if (
    (/^(system|volume|network|image|builder)$/.test(verb) && /^(prune|rm|remove)$/.test(next) &&
      (verb === "volume" || has(call, /^(--volumes|-a|--all|-af|-fa)$/))) ||
    (verb === "down" && has(call, /^(-v|--volumes|--rmi.*)$/)) ||
    (verb === "rm" && has(call, /^-[a-z]*v/))
  ) {
    causes.push({
      name: "loses_work",
      why: `${program} deletes volumes or images, with the data in them`,
    });
  } else if (
    /^(prune|rm|rmi|kill|stop|down|restart|remove)$/.test(verb) || /^(prune|rm|remove)$/.test(next)
  ) {
    causes.push({ name: "container_start", why: `${program} ${verb} stops or removes containers` });
  } else if (
    /^(run|exec|up|start|build|buildx|create|pull|cp|load|import|commit|tag|bake|login)$/.test(verb)
  ) {
    if (verb !== "tag") {
      causes.push({ name: "container_start", why: `${program} ${verb} builds or runs containers` });
    }
  }
  const production = productionOf(call, context);
  const isRemote = has(call, /^(-H|--host|--context|-c)/) || /^(stack|service|swarm)$/.test(verb);
  if (
    production !== null && (isRemote || /^(up|down)$/.test(verb) || verb === "exec") &&
    causes.length > 0
  ) {
    causes.push({ name: "production", why: `${program} works on "${production}"` });
  }
  return causes;
}

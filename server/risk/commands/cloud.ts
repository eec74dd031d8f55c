import type { Cause } from "../facts.ts";
import { verbOf } from "../verbs.ts";
import {
  asksHelp,
  type Call,
  type Context,
  has,
  one,
  productionOf,
  type Row,
  triesOnly,
  UNATTENDED,
  valuesLeftOut,
} from "./call.ts";

/** Programs that change a cloud, a cluster or many machines. */
export const CLOUDS: readonly Row[] = [
  [
    /^(aws|awslocal|gcloud|gsutil|bq|az|doctl|heroku|fly|flyctl|vercel|netlify|wrangler|railway|render|eb|sam|cdk|cdktf|sls|serverless|pulumi|terraform|tofu|terragrunt|kubectl|k|oc|helm|helmfile|argocd|flux|eksctl|kops|nomad|vault|consul|packer|skaffold|kubectx|kubens|linode-cli|hcloud|oci|ibmcloud|scw|aliyun|openstack|firebase|supabase|amplify|copilot|cf|dokku|kustomize|istioctl|linkerd|velero|crossplane|stripe|twilio|shopify|auth0|okta|sf|sfdx|sentry-cli|datadog-ci|databricks|spinnaker|waypoint|boundary|cloudflared|turso|neonctl|pscale|planetscale|atlas|rclone|s3cmd|s5cmd|mc|juju|virsh|govc|proxmox|pvesh|ipmitool|okteto|tilt|kn|kind|minikube|tsh|tailscale)$/,
    cloudCauses,
  ],
  [
    /^(ansible|ansible-playbook|ansible-pull|salt|salt-ssh|puppet|chef-client|knife|capistrano|cap|fab|mina|dagger|kamal|rundeck)$/,
    (call, context) => {
      if (
        asksHelp(call) || triesOnly(call) ||
        has(call, /^(--list-hosts|--syntax-check|--list-tasks|-C)$/)
      ) return [];
      const production = productionOf(call, context);
      const causes = one("cloud_change", `${call.program} changes other machines`);
      if (production !== null) {
        causes.push({ name: "production", why: `${call.program} works on "${production}"` });
      }
      return causes;
    },
  ],
];

/** A word that names a whole store, cluster or project. */
export const WHOLE =
  /(^|[-_:/])(namespaces?|ns|clusters?|projects?|rb|buckets?|databases?|db|instances?|groups?|stacks?|accounts?|organi[sz]ations?|repos?|volumes?|pvc?|pv|crds?|snapshots?|backups?|vaults?|zones?|apps?|domains?|subscriptions?|keyspaces?|env|environments?|sites?|tables?|addons?|keys?)([-_:/]|$)/;

/** A place in the storage of a cloud: a recursive deletion empties it. */
const STORAGE = /^(gs|s3|r2|b2|az|abfss?|wasbs?|oss|cos|obs|swift|minio):\/\//i;

const RUN_ONLY = new Set(["run"]);

const SECRETS =
  /secret|get-parameter|password|credential|keyvault|access-token|kv\b|get-session-token/;

function cloudCauses(call: Call, context: Context): Cause[] {
  const { program, text } = call;
  if (asksHelp(call)) return [];
  const isTerraform = /^(terraform|tofu|terragrunt|pulumi|cdk|cdktf)$/.test(program);
  const isLocal = /^(kind|minikube|awslocal|tilt)$/.test(program);
  const ignored = /^(kubectl|k|oc|nomad|kn|fly|flyctl)$/.test(program) ? undefined : RUN_ONLY;
  const bare = program === "vercel" || program === "netlify";
  const verb = call.words.length === 0 && bare && !has(call, /^--?v(ersion)?$/)
    ? { kind: "changes" as const, verb: "deploy" }
    : verbOf(valuesLeftOut(call), ignored) ??
      (/^(gcloud|az|aws|sam|kn)$/.test(program) ? null : verbOf(call.words));
  const production = productionOf(call, context);
  const kind = triesOnly(call) ? "reads" : verb?.kind ?? null;
  const name = `${program} ${verb?.verb ?? ""}`.trim();
  if (kind === "reads") {
    const told = SECRETS.test(text.toLowerCase())
      ? one("secret_read", `${name} shows secrets`)
      : [];
    return told;
  }
  const causes: Cause[] = [];
  if (isLocal) return one("container_start", `${name} changes a local cluster`);
  if (production !== null) {
    causes.push(
      kind === null
        ? { name: "production_named", why: `${name} works on "${production}"` }
        : { name: "production", why: `${name} changes "${production}"` },
    );
  }
  if (kind === null) return [...causes, ...one("cloud", `${name} works on a shared system`)];
  if (kind === "changes") {
    causes.push({ name: "cloud_change", why: `${name} changes a shared system` });
  } else {
    causes.push({ name: "cloud_destroy", why: `${name} deletes something on a shared system` });
    const isWhole = isTerraform || call.words.some((word) =>
      !word.includes("/") && WHOLE.test(word)
    ) ||
      has(call, /^--(recursive|all|all-namespaces|delete|purge|cascade)/) ||
      (has(call, /^-[a-zA-Z]*[rR]/) && call.argv.some((word) => STORAGE.test(word))) ||
      (program === "rclone" && verb?.verb === "purge");
    const isAsked = isTerraform && !has(call, UNATTENDED);
    if (isWhole && !isAsked) {
      causes.push({ name: "destroys_whole", why: `${name} deletes all that it holds` });
    }
  }
  if (has(call, UNATTENDED) || has(call, /^-(y|q|f)$/) && program !== "kubectl") {
    causes.push({ name: "unattended", why: `${name} does not ask before it changes something` });
  }
  return causes;
}

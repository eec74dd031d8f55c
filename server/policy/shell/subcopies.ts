import { type Row, row } from "./row.ts";

const CLOUD =
  "--exclude= --include= --acl= --profile= --region= --endpoint-url= -r --recursive --delete --dryrun,--dry-run";
const cloud = row("copy", CLOUD);
const away = row("move", CLOUD);
const container = row("copy", "-a,--archive -L,--follow-link -q,--quiet");
const pod = row("copy", "-n,--namespace= -c,--container= --context= --retries= --no-preserve=?");

/** Subcommands that copy files between here and elsewhere, one row each. */
const COPIES: Record<string, Row> = {
  "docker cp": container,
  "docker container cp": container,
  "podman cp": container,
  "nerdctl cp": container,
  "kubectl cp": pod,
  "oc cp": pod,
  "aws s3 cp": cloud,
  "aws s3 mv": away,
  "aws s3 sync": cloud,
  "gsutil cp": cloud,
  "gsutil mv": away,
  "gsutil rsync": cloud,
  "rclone copy": cloud,
  "rclone copyto": cloud,
  "rclone sync": cloud,
  "rclone move": away,
  "gcloud compute scp": cloud,
  "multipass transfer": cloud,
};

const PROGRAMS = new Set(Object.keys(COPIES).map((key) => key.split(" ")[0]!));

/** The row of a copying subcommand, and its arguments with the subcommand's words as the program. */
export function copyingSubcommand(
  name: string,
  argv: readonly string[],
): { row: Row; argv: string[] } | null {
  if (!PROGRAMS.has(name)) return null;
  const places = [...argv.keys()].filter((at) => at > 0 && !argv[at]!.startsWith("-")).slice(0, 5);
  for (let from = 0; from < places.length; from++) {
    for (let count = 1; count <= 2; count++) {
      const words = places.slice(from, from + count);
      const key = [name, ...words.map((at) => argv[at]!)].join(" ");
      if (words.length < count || !Object.hasOwn(COPIES, key)) continue;
      return { row: COPIES[key]!, argv: [argv[0]!, ...argv.slice(words.at(-1)! + 1)] };
    }
    if (argv[places[from]! - 1]?.startsWith("-") !== true) return null;
  }
  return null;
}

import type { Cause } from "../facts.ts";
import { namesProduction, verbOf } from "../verbs.ts";
import {
  asksHelp,
  type Call,
  type Context,
  has,
  LOCAL,
  MAX_TEXT,
  one,
  productionOf,
  type Row,
  triesOnly,
} from "./call.ts";
import { WHOLE } from "./cloud.ts";

/** Programs that reach other machines. */
export const NETWORK: readonly Row[] = [
  [/^(curl|wget|http|https|xh|aria2c|fetch|lwp-request|invoke-webrequest|iwr|curlie)$/, webCauses],
  [/^(nc|ncat|netcat|socat|telnet|ftp)$/, networkToolCauses],
  [
    /^(ssh|scp|rsync|sftp|mosh|autossh|sshpass|ssh-copy-id|ssh-keygen|ssh-add|pssh|winrs|psexec)$/,
    remoteCauses,
  ],
];

/** An address or a host as a word. */
export const NETWORK_TARGET = /^(?:[a-z+]+:\/\/|[\w.-]+\.[a-z]{2,}(?:[:/]|$))/i;

/** The causes of a request over the network. */
export function webCauses(call: Call): Cause[] {
  const { program, argv, text } = call;
  if (asksHelp(call)) return [];
  const targets = argv.filter((word, i) =>
    NETWORK_TARGET.test(word) &&
    !/^(-o|-O|--output|-H|--header|-e|-A|--cacert|-T|--upload-file)$/.test(argv[i - 1] ?? "")
  );
  const isLocal = LOCAL.test(targets[0] ?? argv.find((word) => LOCAL.test(word)) ?? "");
  if (isLocal) return [];
  const method = /(?:-X\s?|--request[ =]|--method[ =])(\w+)/.exec(text)?.[1]?.toUpperCase() ??
    (/^https?$|^xh$/.test(program)
      ? argv.find((word) => /^(POST|PUT|PATCH|DELETE)$/.test(word))
      : undefined);
  const sendsFile =
    /(?:^|\s)(?:-d|--data(?:-\w+)?|--json|-F|--form|-T|--upload-file|--post-file|--body-file)[ =]?\S*(?:@|=@)\S|(?:^|\s)(?:-T|--upload-file|--post-file|--body-file)[ =]?\S/
      .test(text);
  const sends =
    /(?:^|\s)(?:-d|--data(?:-\w+)?|--json|-F|--form|--post-data|--body-data)(?:[ =]|\S)/.test(
      text,
    ) ||
    (method !== undefined && !/^(GET|HEAD|OPTIONS)$/.test(method));
  const host = targets[0]?.replace(/^[a-z]+:\/\//i, "").split(/[/?#]/)[0]?.slice(0, 80) ??
    "another machine";
  const production = namesProduction([host]);
  const causes: Cause[] = [];
  if (sendsFile) causes.push({ name: "sends_file", why: `${program} sends a file to ${host}` });
  else if (sends) causes.push({ name: "sends", why: `${program} sends data to ${host}` });
  else causes.push({ name: "network", why: `${program} reads from ${host}` });
  if (method === "DELETE") {
    causes.push({ name: "cloud_change", why: `${program} deletes something at ${host}` });
  }
  causes.push(...mutationCauses(call, host));
  if (production !== null && sends) {
    causes.push({ name: "production", why: `it changes "${production}"` });
  }
  return causes;
}

/** A GraphQL mutation, by the verb and the noun in its field: `volumeDelete`, `delete_users`. */
function mutationCauses({ argv, program }: Call, host: string): Cause[] {
  const document = argv.find((word) => /\bmutation\b[^{]{0,2000}\{/.test(word))?.slice(0, MAX_TEXT);
  if (document === undefined) return [];
  const fields = [...document.matchAll(/[{}\s,:]([A-Za-z_]\w{0,99})\s*[({]/g)].map(([, field]) =>
    field!.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().split("_")
  );
  const destroys = fields.find((parts) => verbOf(parts)?.kind === "destroys");
  if (destroys === undefined) return one("cloud_change", `${program} changes something at ${host}`);
  const causes = one("cloud_destroy", `${program} deletes something at ${host}`);
  if (destroys.some((part) => WHOLE.test(part))) {
    causes.push({ name: "destroys_whole", why: `${program} deletes all that it holds` });
  }
  return causes;
}

function remoteCauses(call: Call, context: Context): Cause[] {
  const { program, argv, words } = call;
  if (asksHelp(call)) return [];
  if (/^(ssh-keygen|ssh-add|ssh-keyscan)$/.test(program)) {
    return program === "ssh-keygen" && has(call, /^-R$|^-l/)
      ? []
      : one("local_history", `${program} changes keys`);
  }
  const isCopy = /^(scp|rsync|sftp|rclone)$/.test(program);
  if (isCopy && !argv.some((word) => /^[^/-][^/]*:|:\/\//.test(word)) && program !== "sftp") {
    return program === "rsync" && has(call, /^--delete/) && !triesOnly(call) &&
        !has(call, /^-[a-z]*n/)
      ? one("deletes", "rsync deletes what the source lacks")
      : [];
  }
  if (isCopy && (triesOnly(call) || has(call, /^-[a-z]*n[a-z]*$/) && program === "rsync")) {
    return [];
  }
  const production = productionOf(call, context);
  const causes = one(
    "remote",
    `${program} works on another machine: ${words[0]?.slice(0, 60) ?? ""}`,
  );
  if (production !== null) {
    causes.push({ name: "production", why: `${program} works on "${production}"` });
  }
  return causes;
}

function networkToolCauses(call: Call): Cause[] {
  if (has(call, /^-[a-z]*z[a-z]*$/) || call.words.some((word) => LOCAL.test(word))) {
    return one("network", `${call.program} tries a connection`);
  }
  if (has(call, /^-[a-z]*e$|^--exec|^-c$/) || /exec:/i.test(call.text)) {
    return one("opens_shell", `${call.program} connects a program to another machine`);
  }
  return one("sends", `${call.program} opens a connection to another machine`);
}

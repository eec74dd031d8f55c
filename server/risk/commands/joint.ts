import type { Analysis } from "../../policy/schema.ts";
import type { Cause } from "../facts.ts";
import { verbOf } from "../verbs.ts";
import { type Call, type Context, has, LOCAL, valuesLeftOut } from "./call.ts";
import { webCauses } from "./network.ts";
import { isSecret } from "./secrets.ts";

/** The causes of risk in programs of a command that work together. */
export function jointCauses({ reads, unresolved }: Analysis, { calls, facts }: Context): Cause[] {
  const causes: Cause[] = [];
  const sender = calls.find(({ program, argv }) =>
    SENDER.test(program) && !argv.some((word) => LOCAL.test(word))
  );
  const told = [
    ...reads,
    ...calls.filter((call) => call !== undefined).flatMap(({ argv }) => argv.map(fileOfWord)),
  ]
    .find((path) => isSecret(path) && !isOwnKey(path, calls));
  if (sender && told !== undefined && !isCloudRead(sender)) {
    causes.push({
      name: "sends_secret",
      why: `${sender.program} may send "${told}", which holds secrets`,
    });
  } else if (
    !sender && told !== undefined && !reads.includes(told) &&
    calls.some(({ program }) =>
      /^(cat|less|more|head|tail|base64|xxd|strings|cp|tar|zip|gpg|openssl|python[\d.]*|node|awk|sed|grep|rg)$/
        .test(program)
    )
  ) {
    causes.push({ name: "secret_read", why: `reads "${told}", which holds secrets` });
  }
  const variable = sender &&
    /\$\{?\w*(secret|token|password|passwd|api_?key|private_?key|credential)/i.exec(
      facts.command ?? "",
    );
  const isHeader = /(-H|--header|-u|--user|authorization)/i.test(facts.command ?? "");
  if (sender && variable && !isHeader && /(-d|--data|\?|-F|\|)/.test(facts.command ?? "")) {
    causes.push({
      name: "sends_secret",
      why: `${sender.program} sends the variable ${variable[0]}`,
    });
  }
  if (
    sender &&
    calls.some(({ program, words }) =>
      /^(env|printenv|set|export)$/.test(program) && words.length === 0
    )
  ) {
    causes.push({
      name: "sends_secret",
      why: `${sender.program} may send the variables of the environment`,
    });
  }
  const { secret_read } = facts.circumstances;
  if (sender && secret_read !== null && !isCloudRead(sender)) {
    const sends = webCauses(sender).some(({ name }) => name === "sends" || name === "sends_file") ||
      !/^(curl|wget|http|xh|gh)$/.test(sender.program);
    causes.push({
      name: sends ? "sends_secret" : "network_after_secret",
      why: `${sender.program} uses the network after the session has read "${secret_read}"`,
    });
  }
  const fetches = calls.some(({ program }) =>
    /^(curl|wget|fetch|iwr|invoke-webrequest)$/.test(program)
  );
  const runs = calls.some(({ program, words, options }) =>
    SHELLS.test(program) &&
    (words.length === 0 || /^(eval|source|\.)$/.test(program) ||
      options.some((option) => /^-\w*c$|^-s$|^-$/.test(option)))
  ) || calls.some(({ program, argv }) => SHELLS.test(program) && argv.includes("-"));
  const substitutes = /(<\(|\$\(|`)\s*(curl|wget|fetch)\b/.test(facts.command ?? "") &&
    calls.some(({ program }) => SHELLS.test(program));
  const isForeign = substitutes ||
    (fetches && runs && (unresolved.length > 0 || /[|`(]/.test(facts.command ?? "")));
  if (isForeign || runsFetched(calls)) {
    causes.push({ name: "foreign_code", why: "downloads code and runs it" });
  }
  const decodes = calls.some(({ program, options }) =>
    /^(base64|xxd|openssl|gunzip|zcat|rev|tr)$/.test(program) &&
    (program === "rev" || options.some((option) => /^(-d|-D|--decode|-r|-dc?)$/.test(option)) ||
      program === "openssl")
  );
  if (decodes && runs && !isForeign) {
    causes.push({ name: "unknown_code", why: "runs a text that is decoded first" });
  }
  if (/\/dev\/(tcp|udp)\//.test(facts.command ?? "")) {
    causes.push({ name: "opens_shell", why: "opens a connection through the shell itself" });
  }
  return causes;
}

/** Whether something is fetched and kept, and a later call runs a file by its path: `./tool`. */
function runsFetched(calls: readonly Call[]): boolean {
  const fetched = calls.findIndex((call, at) => isKept(call, calls[at + 1]));
  const isOwn = ({ path }: Call) => /^(\.{1,2}\/|~\/|\/tmp\/|\/var\/tmp\/|\/dev\/shm\/)/.test(path);
  return fetched >= 0 && calls.slice(fetched + 1).some(isOwn);
}

/** Whether a call fetches a file, and does not only print what it reads. */
function isKept(call: Call, next: Call | undefined): boolean {
  if (call.argv.some((word) => LOCAL.test(word))) return false;
  if (/^(wget|aria2c|iwr|invoke-webrequest)$/.test(call.program)) return true;
  return /^(curl|fetch)$/.test(call.program) &&
    (has(call, /^-[a-zA-Z]*[oO]|^--(output|remote-name)/) ||
      /^(tar|bsdtar|unzip|gunzip|zcat|cpio|dpkg|rpm)$/.test(next?.program ?? ""));
}

const SENDER =
  /^(curl|wget|http|https|xh|nc|ncat|netcat|socat|telnet|ftp|ssh|scp|rsync|sftp|aws|gsutil|gcloud|az|rclone|s3cmd|gh|mail|sendmail|mutt|nslookup|dig|host|ping|invoke-webrequest|iwr)$/;

const SHELLS = /^((ba|da|z|k|fi)?sh|python[\d.]*|node|perl|ruby|php|pwsh|eval|source|\.)$/;

/** The file that an argument names: `@.env`, `file=@.env`, `--from=.env`, `.env:/x`. */
function fileOfWord(word: string): string {
  if (/^https?:/.test(word) || /\s/.test(word)) return "";
  return word.replace(/^-{1,2}[\w-]+=/, "").replace(/^\w*=?@/, "").split(":")[0] ?? "";
}

/** The identity of a remote login is used, not sent. */
function isOwnKey(path: string, calls: readonly Call[]): boolean {
  return calls.some(({ argv }) =>
    argv.some((word, at) =>
      word === path && /^(-i|--key|--cert|--cacert|--identity|-E|-F)$/.test(argv[at - 1] ?? "")
    )
  );
}

function isCloudRead(call: Call): boolean {
  if (!/^(aws|gcloud|az|gh|gsutil)$/.test(call.program)) return false;
  return verbOf(valuesLeftOut(call))?.kind === "reads" && !/\b(cp|sync|mv|put)\b/.test(call.text);
}

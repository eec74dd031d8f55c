import type { Cause } from "../facts.ts";
import { asksHelp, type Call, has, one, type Row } from "./call.ts";

/** Git, and the tools of code hosts. */
export const HISTORIES: readonly Row[] = [
  [/^git$/, gitCauses],
  [/^(gh|glab|hub|tea)$/, hubCauses],
];

function gitCauses(call: Call): Cause[] {
  const { argv } = call;
  const at = argv.findIndex((word, i) =>
    !word.startsWith("-") && !/^(-C|-c|--git-dir|--work-tree|--namespace)$/.test(argv[i - 1] ?? "")
  );
  const verb = argv[at] ?? "";
  const rest = argv.slice(at + 1);
  const option = (pattern: RegExp) => rest.some((word) => pattern.test(word));
  const words = rest.filter((word) => !word.startsWith("-"));
  switch (verb) {
    case "push":
      if (option(/^(--dry-run|-n)$/)) return [];
      if (
        option(/^(--force|-[a-z]*f[a-z]*|--mirror|--delete|-d|--prune)$/) ||
        words.some((word) => /^[+:]/.test(word))
      ) {
        return one("rewrites_history", "it replaces or deletes what others may have fetched");
      }
      if (
        option(/^--tags$|^--follow-tags$/) ||
        words.some((word) => /^(refs\/tags\/)?v\d+\./.test(word))
      ) {
        return one("pushes", "pushes tags, which often start a release");
      }
      return one("pushes", "sends commits to a shared repository");
    case "reset":
      return option(/^--(hard|merge|keep)$/)
        ? one("loses_work", "discards uncommitted work or commits")
        : [];
    case "clean":
      return option(/^-[a-z]*f|^--force$/) && !option(/^-[a-z]*n|^--dry-run$/)
        ? one("loses_work", "deletes files that git does not keep")
        : [];
    case "checkout":
    case "restore":
      if (verb === "restore" && option(/^--staged$/) && !option(/^--worktree$/)) return [];
      if (
        verb !== "restore" && rest.includes("--") &&
        words.some((word) => /^(\.|:\/|\*)$/.test(word))
      ) {
        return one("loses_work", "discards every uncommitted change");
      }
      return rest.includes("--") || verb === "restore" || option(/^(-f|--force)$/) ||
          words.includes(".")
        ? one("local_history", "discards uncommitted changes of files")
        : [];
    case "switch":
      return option(/^(-f|--force|--discard-changes)$/)
        ? one("local_history", "discards uncommitted changes")
        : [];
    case "branch":
      return option(/^-D$|^--delete$|^-d$/) ? one("local_history", "deletes a branch") : [];
    case "tag":
      return option(/^(-d|--delete|-f|--force)$/)
        ? one("local_history", "deletes or moves a tag")
        : [];
    case "stash":
      return /^(drop|clear)$/.test(words[0] ?? "") ? one("loses_work", "deletes stashed work") : [];
    case "rebase":
    case "cherry-pick":
    case "am":
      return option(/^--(abort|continue|skip|quit)$/)
        ? []
        : one("local_history", "rewrites local commits");
    case "pull":
      return option(/^(--rebase.*|-r|--force|-f)$/)
        ? one("local_history", "rewrites local commits")
        : one("interpreter", "takes commits of others over");
    case "merge":
      return one("interpreter", "takes commits of others over");
    case "commit":
      return option(/^--no-verify$|^-n$/)
        ? one("local_history", "skips the hooks that check a commit")
        : [];
    case "filter-branch":
    case "filter-repo":
    case "replace":
      return one("rewrites_history", "rewrites the history of the repository");
    case "reflog":
    case "gc":
    case "prune":
      return option(/^--(expire|prune)|^expire$|^delete$/) || words.includes("expire")
        ? one("loses_work", "deletes the commits that could still be recovered")
        : [];
    case "update-ref":
      return option(/^-d$/)
        ? one("loses_work", "deletes a reference")
        : one("local_history", "moves a reference");
    case "config":
      return words.some((word) =>
          /hookspath|sshcommand|fsmonitor|editor|pager|helper|^alias\.|textconv|smudge|clean|insteadof|gitproxy/i
            .test(word)
        ) && words.length > 1
        ? one("hook", "makes git run other programs, or use other servers")
        : option(/^--(global|system)$/) && words.length > 1
        ? one("local_history", "changes git's settings for every repository")
        : [];
    case "remote":
      return /^(set-url|add|remove|rm)$/.test(words[0] ?? "")
        ? one("local_history", "changes where git sends commits")
        : [];
    case "submodule":
    case "clone":
      return one("installs", "fetches the code of others");
    case "worktree":
      return option(/^(-f|--force)$/) ? one("local_history", "removes a working tree") : [];
    default:
      return [];
  }
}

function hubCauses(call: Call): Cause[] {
  const { words, argv, program } = call;
  if (asksHelp(call)) return [];
  const [part = "", verb = ""] = words;
  if (part === "api") {
    const method = argv.find((_, i) => /^(-X|--method)$/.test(argv[i - 1] ?? ""))?.toUpperCase() ??
      (has(call, /^(-f|-F|--field|--raw-field|--input)$/) ? "POST" : "GET");
    if (method === "GET") return one("network", `${program} reads from a shared service`);
    return one(
      method === "DELETE" ? "cloud_destroy" : "cloud_change",
      `${program} api sends ${method} to a shared service`,
    );
  }
  const name = `${program} ${part} ${verb}`;
  if (/^(delete|transfer|archive|unarchive|remove)$/.test(verb)) {
    const causes = one("cloud_destroy", `${name} deletes something that others use`);
    if (part === "repo") {
      causes.push({ name: "destroys_whole", why: `${name} deletes a whole repository` });
    }
    return causes;
  }
  if (
    /^(secret|variable|ssh-key|gpg-key|ruleset|auth)$/.test(part) &&
    /^(set|add|create|token|login|logout|refresh)$/.test(verb)
  ) {
    return verb === "token"
      ? one("secret_read", `${name} shows a token`)
      : one("cloud_change", `${name} changes credentials`);
  }
  if (part === "release" && /^(create|upload|edit)$/.test(verb)) {
    return one("publishes", `${name} publishes a release`);
  }
  if (/^(workflow|pipeline|ci)$/.test(part) && /^(run|trigger|enable|disable)$/.test(verb)) {
    return one("deploys", `${name} starts automation`);
  }
  if (/^(pr|mr)$/.test(part) && /^(merge)$/.test(verb)) {
    return one("publishes", `${name} changes the shared branch`);
  }
  if (part === "repo" && /^(create|edit|rename|fork|sync)$/.test(verb)) {
    return one("cloud_change", `${name} changes a shared repository`);
  }
  if (
    /^(create|comment|close|reopen|edit|review|approve|ready|rerun|cancel|lock|pin|update-branch|checkout)$/
      .test(verb)
  ) {
    return verb === "checkout" ? [] : one("pushes", `${name} writes to a shared service`);
  }
  return [];
}

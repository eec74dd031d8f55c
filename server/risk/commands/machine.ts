import type { Cause } from "../facts.ts";
import { asksHelp, type Call, has, one, type Row } from "./call.ts";

/** Programs that change this machine: its services, disks, permissions, processes and files. */
export const MACHINE: readonly Row[] = [
  [/^(sudo|doas|su|pkexec|runas|gosu|nsenter|chroot|unshare|setpriv)$/, privilegeCauses],
  [
    /^(systemctl|service|launchctl|rc-service|initctl|iptables|ip6tables|nft|ufw|firewall-cmd|sysctl|modprobe|insmod|rmmod|useradd|userdel|usermod|groupadd|passwd|chpasswd|visudo|mount|umount|swapoff|setenforce|auditctl|augenrules|setsebool|semanage|semodule|apparmor_parser|aa-(?:disable|complain|teardown)|update-alternatives|update-rc\.d|hostnamectl|timedatectl|csrutil|spctl|defaults|reg|netsh|sc|reboot|shutdown|halt|poweroff|init|nmcli|ifconfig)$/,
    serviceCauses,
  ],
  [/^(chmod|chown|chgrp|setcap|setfacl)$/, modeCauses],
  [
    /^(dd|mkfs.*|fdisk|sfdisk|parted|wipefs|mkswap|diskutil|hdparm|blkdiscard|cryptsetup|lvremove|vgremove|zpool|zfs|badblocks)$/,
    diskCauses,
  ],
  [/^(crontab|at|batch|systemd-run|schtasks)$/, scheduleCauses],
  [/^(kill|pkill|killall|taskkill|fuser)$/, killCauses],
  [/^(find|fd|shred|srm|truncate|rm|unlink)$/, deletingCauses],
];

function privilegeCauses(call: Call): Cause[] {
  return call.words.length === 0 && !has(call, /^-[si]/)
    ? []
    : has(call, /^-(l|v|k|K)$/)
    ? []
    : one("privilege", `${call.program} acts with the rights of another user`);
}

function serviceCauses(call: Call): Cause[] {
  const { program, words, options } = call;
  if (/^(reboot|shutdown|halt|poweroff|init)$/.test(program)) {
    return one("destroys_whole", "stops this machine");
  }
  const text = words.join(" ");
  if (
    /\b(status|list\S*|is-\S+|show|cat|print|blame|info|help)\b/.test(text) ||
    words.length === 0 && options.length === 0 && !/^(visudo|passwd)$/.test(program)
  ) return [];
  if (/journalctl|dmesg/.test(program)) return [];
  return one(
    "service",
    `${program} ${words[0] ?? ""} changes the services or the protection of this machine`,
  );
}

/** A folder whose permissions keep the whole machine, or everything of a user, in order. */
const WHOLE_TREE =
  /^(\/|\/\*|~\/?|\$home\/?|\/(etc|usr|var|bin|lib|boot|root|home|users|system|library|opt)\/?|\/(home|users)\/[^/]+\/?)$/;

function modeCauses(call: Call): Cause[] {
  const { program, text } = call;
  if (has(call, /^-\w*R|^--recursive$/) && call.words.some((word) => WHOLE_TREE.test(word))) {
    return one("destroys_whole", `${program} changes the permissions of a whole system`);
  }
  if (/^(chown|chgrp|setcap|setfacl)$/.test(program)) {
    return one("privilege", `${program} changes who owns or may do what`);
  }
  if (
    /(^|\s)[0-7]?[0-7][0-7][2367](\s|$)|\b(a|o|ugo|go)*[ao][+=]\w*w|(^|\s)[4267][0-7]{3}(\s|$)|[ug]\+s/
      .test(text)
  ) {
    return one("privilege", `${program} lets everybody change a file, or run it with more rights`);
  }
  return one("mode", `${program} changes the permissions of files`);
}

function diskCauses(call: Call): Cause[] {
  return call.program === "dd" && !/of=\/dev\/(?!null|stdout)/.test(call.text) ||
      /\s-l\b/.test(` ${call.text}`) ||
      /^(info\w*|list|status|get|activity|verifyvolume)$/.test(call.words[0] ?? "")
    ? []
    : one("destroys_machine", `${call.program} overwrites a disk or a file for good`);
}

function scheduleCauses(call: Call): Cause[] {
  return has(call, /^-l$/) || (call.program === "at" && call.words.length === 0)
    ? []
    : one("schedules", `${call.program} makes something run later without an agent`);
}

function killCauses({ program, words }: Call): Cause[] {
  return words.length === 0 ? [] : one("mode", `${program} ends processes`);
}

function deletingCauses(call: Call): Cause[] {
  if (call.program === "find" || call.program === "fd") {
    if (!call.argv.includes("-delete") && !/-exec\s+rm|-x\s+rm/.test(call.text)) return [];
    const isWide = call.words.length > 0 &&
      /^(\/|~\/?|\/(home|users|etc|usr|var|root)(\/[^/]+)?\/?|\.\.(\/\.\.)*\/?)$/.test(
        call.words[0]!,
      );
    return one(isWide ? "deletes_everything" : "deletes", `${call.program} deletes what it finds`);
  }
  if (/^(rm|unlink)$/.test(call.program)) {
    if (call.words.length > 0 || asksHelp(call)) return [];
    const isWide = has(call, /^-\w*[rR]|^--recursive$/);
    return one(
      isWide ? "deletes_folder" : "deletes",
      `${call.program} deletes what its input names`,
    );
  }
  if (call.program === "shred" || call.program === "srm") {
    return one("loses_work", `${call.program} deletes a file for good`);
  }
  if (call.program === "truncate") return one("loses_work", "truncate empties a file");
  return [];
}

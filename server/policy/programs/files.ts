import { forNames } from "./options.ts";
import { copyReach } from "./recursion.ts";
import { type Row, row } from "./record.ts";

/**
 * Programs that make, move, change or delete files, and those that change disks. The suffix of a
 * backup is left out, because with it the old file gets any name (`mv -b -S .json x gate.config`).
 */
export const FILES: Record<string, Row> = {
  ...forNames(
    "cp gcp",
    row(
      "copy",
      "-a,--archive -b -d -f,--force -H -i,--interactive -l,--link -L -n,--no-clobber -p -P " +
        "-r,-R,--recursive -s,--symbolic-link -t,--target-directory= " +
        "-T,--no-target-directory -u,--update=? -v,--verbose -x -Z -g -o -m,--mode= -O --backup=? " +
        "--preserve=? --reflink=? --remove-destination --sparse=",
      { below: copyReach("recursive", "archive") },
    ),
  ),
  install: row(
    "copy",
    "-b -c -C -d,--directory -D -g,--group= -m,--mode= -o,--owner= -p -s -t,--target-directory= " +
      "-T -v --backup=? --strip-program=!",
  ),
  mv: row(
    "move",
    "-a,--archive -b -d -f,--force -H -i,--interactive -l,--link -L -n,--no-clobber -p -P " +
      "-r,-R,--recursive -s,--symbolic-link -t,--target-directory= " +
      "-T,--no-target-directory -u,--update=? -v,--verbose -x -Z -g -o -m,--mode= -O --backup=? " +
      "--preserve=? --reflink=? --remove-destination --sparse=",
    { below: copyReach() },
  ),
  ln: row(
    "link",
    "-b -d -f,--force -i -L -n -P -r,--relative -s,--symbolic -t,--target-directory= -T -v",
  ),
  link: row("link"),
  rm: row(
    "deletes",
    "-f,--force -i -I -r,-R,--recursive -d,--dir -v,--verbose --interactive=? --no-preserve-root " +
      "--preserve-root=? --one-file-system",
    { words: "text" },
  ),
  rmdir: row("deletes", "-p,--parents -v,--verbose --ignore-fail-on-non-empty", { words: "text" }),
  ...forNames("unlink trash trash-put", row("deletes")),
  shred: row("deletes", "-f -n,--iterations= -s,--size= -u -v -x -z --random-source= --remove=?"),
  srm: row("deletes", "-d -f -i -r,-R -s -m -v -n -z"),
  rimraf: row("deletes", "-G,--glob -v --preserve-root --no-preserve-root --impl="),
  "del-cli": row("deletes", "-f -d"),
  ...forNames("gio dd", row("none")),
  touch: row("writes", "-a -c,--no-create -d,--date= -f -h -m -r,--reference= -t= --time="),
  mkdir: row("writes", "-m,--mode= -p,--parents -v,--verbose -Z --context=?", { words: "text" }),
  ...forNames("mkfifo mknod", row("writes", "-m,--mode=")),
  tee: row("writes", "-a,--append -i,--ignore-interrupts -p --output-error=?", { keeps: true }),
  sponge: row("writes", "-a,--append", { keeps: true }),
  truncate: row("writes", "-c,--no-create -o -r,--reference= -s,--size="),
  fallocate: row("writes", "-l,--length= -o,--offset= -n -p -d -c -z -v -x"),
  chmod: row(
    "mode",
    "-c -f,--silent,--quiet -v -R,--recursive --reference= --preserve-root --no-preserve-root",
  ),
  chown: row("mode", "-c -f,--silent,--quiet -v -R,--recursive -h -H -L -P --from= --reference="),
  chgrp: row("mode", "-c -f -v -R,--recursive -h -H -L -P --reference="),
  chattr: row("mode", "-R -V -f -v= -p="),
  chflags: row("mode", "-f -h -v -x -R -H -L -P"),
  setcap: row("mode", "-q -v -n= -f -r"),
  SetFile: row("writes", "-P -a= -c= -d= -m= -t="),
  screencapture: row(
    "writes",
    "-c -C -d -i -m -M -o -P -p -r -s -S -t= -T= -w -W -x -a -v -V= -D= -R= -l= -B= -u -U",
  ),
  ditto: row(
    "copy",
    "-h -v -V -X -c -k -x -z -j --rsrc --norsrc --extattr --noextattr --qtn --noqtn --acl --noacl " +
      "--sequesterRsrc --keepParent --arch= --bom= --password --hfsCompression --zlibCompressionLevel= " +
      "--nocache --clone",
  ),
  "update-alternatives": row(
    "none",
    "--install=> --force --set --remove --altdir= --admindir= --log= --slave= --verbose --quiet",
  ),
  setfacl: row(
    "writes",
    "-m,--modify= -x,--remove= -M= -X= -b -k -d -R -L -P -n --set= --restore=",
  ),
  ...forNames("nano pico", row("writes")),
  ...forNames("rename prename", row("mode", "-v -n -f -s= -e= -E= -d -u", { words: "code" })),
  ...forNames(
    "mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat " +
      "mkfs.f2fs mke2fs mkdosfs mkswap wipefs blkdiscard badblocks tune2fs resize2fs cfdisk sgdisk " +
      "cryptsetup pvcreate",
    row("writes", "-t= -L= -b= -l="),
  ),
  ...forNames(
    "fdisk sfdisk gdisk parted",
    row("writes", "-t= -L= -b= -l,--list", { looks: ["list"] }),
  ),
};

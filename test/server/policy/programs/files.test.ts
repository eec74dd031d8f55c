import { testFamily } from "./family.ts";

testFamily({
  stopped: [
    "cp .env a",
    "cp a .env",
    "cp -t . ../x/.env",
    "install -m 600 a .env",
    "install --strip-program='git push --force' a b",
    "mv .env a",
    "ln -s .env a",
    "rm -f .env",
    "shred -u .env",
    "touch .env",
    "touch -t 202001010000 .env",
    "touch -m -t 202001010000 /etc/motd",
    "mke2fs -t ext4 /etc/motd",
    "mkswap -l x /etc/motd",
    "nano -l /etc/motd",
    "tee -a .env",
    "truncate -s0 .env",
    "chmod 777 .env",
    "rename s/a/b/ .env",
    "mkfs.ext4 /dev/sda1",
    "dd if=.env of=a",
  ],
  free: [
    ...["cp a b", "mv a b", "rm a", "touch -r a b", "mkdir -p a/b", "chmod +x a", "tee a b"],
    ...["touch -t 202001010000 a", "fdisk -l /srv/disk.img", "parted --list /srv/disk.img"],
  ],
});

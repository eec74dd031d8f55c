import { testFamily } from "./family.ts";

testFamily({
  stopped: [
    "zip a.zip .env",
    "zip -t 2020-01-01 /etc/a.zip b",
    "bzip2 /etc/a",
    "zip -T --unzip-command='git push --force' a.zip b",
    "unzip -d /etc a.zip",
    "gzip .env",
    "zcat .env",
    "7z a -o/etc x",
    "xz -k .env",
    "printf .env > l; zstd --filelist l",
    "printf .env > l; zstd --filelist=l",
    "printf .env > l; xz --files=l",
    "printf .env > l; xz --files0 l",
    "zstd -D .env a",
    "tar -cf a.tar .env",
    "tar -xf a.tar --to-command='git push --force'",
  ],
  free: [
    "zip a.zip b",
    "unzip -l a.zip",
    "gzip -k a",
    "gzip -l /srv/a.gz",
    "xz --list /srv/a.xz",
    "bzip2 -tv /srv/a.bz2",
    "zstd -c /srv/a",
    "tar -xzf a.tgz",
    "zstd -d a.zst",
    "printf a > l; xz --files=l",
  ],
});

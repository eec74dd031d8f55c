import { forNames } from "./options.ts";
import { copyReach, zipReach } from "./recursion.ts";
import { type Row, row } from "./record.ts";

/** Options with which a program that compresses prints, lists or tests, and keeps its files. */
const TESTS = ["stdout", "l", "list", "t", "test"];

/** Programs that pack, unpack and compress. */
export const ARCHIVES: Record<string, Row> = {
  compress: row("writes"),
  zip: row(
    "writes",
    "-T -TT,--unzip-command=! -@& -b= -d -e -f -i= -j -m -n= -O= -P= -q -r -R -s= -t= -tt= -u -v -x= -y " +
      "-z -0 -1 -9",
    { below: zipReach },
  ),
  unzip: row("reads", "-d=> -o -n -q -l -t -v -j -x= -P= -a -u -p -Z -C"),
  gzip: row(
    "writes",
    "-c,--stdout -d,--decompress -f -k -l -n -N -q -r,--recursive -S= -t -v -1 -9 --fast --best",
    { below: copyReach("recursive"), looks: TESTS },
  ),
  gunzip: row("writes", "-c,--stdout -f -k -l -n -N -q -r,--recursive -S= -t -v", {
    below: copyReach("recursive"),
    looks: TESTS,
  }),
  ...forNames("zcat gzcat", row("reads", "-r,--recursive", { below: copyReach("recursive") })),
  bzip2: row("writes", "-c,--stdout -d -f -k -q -s -t -v -z", { looks: TESTS }),
  xz: row("writes", "-c,--stdout -d -f -k -l -q -t -T= -v -z -S= -F= -0 -9 -e", { looks: TESTS }),
  zstd: row(
    "writes",
    "-c,--stdout -d -f -k -l -o=> -q -r,--recursive -t -T= -v -D=< -19 --rm --filelist=&",
    { below: copyReach("recursive"), looks: TESTS },
  ),
  ...forNames("7z 7za 7zr 7zz", row("none", "@ -o=> -p= -t= -m= -x= -i= -w= -y -r -bd -so -si")),
  ar: row("reads", "@ -o --output=> -M&", { lists_arguments: true }),
  unar: row("reads", "-o,-output-directory=> -f -D -d -p= -e= -q"),
  cpio: row(
    "none",
    "-i -o& -p& -d -m -u -v -t -F,--file=> -D,--directory=> -E= -H= -R= -I= -O= --rsh-command=!",
  ),
};

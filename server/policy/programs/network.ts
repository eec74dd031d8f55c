import { forNames } from "./options.ts";
import { copyReach, rsyncReach, wholeReach } from "./recursion.ts";
import { type Row, row } from "./record.ts";

/** Programs that move files and messages between machines. */
export const NETWORK: Record<string, Row> = {
  mail: row("none", "-s= -a=< -b= -c= -r= -f= -q= -S= -A=< --exec=! --subject= --attach=<"),
  rsync: row(
    "copy",
    "-e,--rsh=! -f,--filter= -T,--temp-dir= -M= -B= -a -v -q -c -r -R -b -u -l -L -k -K -H -p -E -A " +
      "-X -o -g -D -t -U -O -J -S -n,--dry-run -W -x -y -C -F -s -h -P -i -z -0 -4 -6 -m --rsync-path=! " +
      "--exclude= --include= --exclude-from=< --include-from=< --files-from=& --backup-dir=> --suffix= " +
      "--log-file=> --partial-dir=> --compare-dest= --copy-dest= --link-dest= --bwlimit= --port= " +
      "--timeout= --max-size= --min-size= --chmod= --chown= --out-format= --password-file= --info= " +
      "--debug= --delete --progress",
    { below: rsyncReach },
  ),
  scp: row(
    "copy",
    "-c= -D= -F= -i= -J= -l= -o= -P= -S=! -X= -3 -4 -6 -A -B -C -O -p -q -R -r -s -T -v",
    { below: copyReach("r") },
  ),
  sftp: row("none", "-b= -B= -c= -D=! -F= -i= -J= -l= -o= -P= -R= -S=! -s= -X="),
  curl: row(
    "none",
    "-o,--output=> -O,--remote-name --remote-name-all -d,--data= -F,--form= -T,--upload-file=< -K,--config=& " +
      "-c,--cookie-jar=> -b,--cookie= -D,--dump-header=> -H,--header= -X,--request= -u,--user= " +
      "-A,--user-agent= -e,--referer= -m,--max-time= -x,--proxy= -w,--write-out= -E,--cert= -r,--range= " +
      "-C,--continue-at= -z= -y= -Y= -Q= -P= -t= -U= -s,--silent -S -f,--fail -L,--location -k -v -i " +
      "-I,--head -N -n -g -G,--get -j -J -p -q -R -Z -a -B -l -M -V -0 -1 -2 -3 -4 -6 --output-dir=> " +
      "--data-binary= --data-raw= --data-urlencode= --trace=> --trace-ascii=> --stderr=> --key= " +
      "--cacert= --connect-timeout= --retry= --retry-delay= --resolve= --url= --unix-socket= " +
      "--interface= --limit-rate= --etag-save=> --etag-compare= --hsts=> --alt-svc= --compressed",
    { globs: true, lists_arguments: true, words: "data" },
  ),
  wget: row(
    "none",
    "-O,--output-document=> -P,--directory-prefix=> -o,--output-file=> -a,--append-output=> " +
      "-i,--input-file=~ -e,--execute= -t,--tries= -T,--timeout= -w= -Q= -U,--user-agent= -l= -A= -R= " +
      "-D= -I= -X= -B= -q -v -c -N -S -r -k -p -m -H -L -np -nc -nv -nd -x -b -d -F -4 -6 " +
      "--use-askpass=! --header= --post-data= --post-file=< --user= --password= --save-cookies=> " +
      "--load-cookies= --limit-rate= --rejected-log=> --no-check-certificate",
  ),
  nc: row("none", "-e,--exec=! -c,--sh-exec=! -p= -w= -s= -i= -q= -x= -X= -l -k -n -u -v -z -4 -6"),
  ncat: row("none", "-e,--exec=! -c,--sh-exec=! -p= -w= -s= -i= -o= -l -k -n -u -v --lua-exec="),
  // They let everybody read the folder.
  ...forNames(
    "http-server serve live-server browser-sync miniserve darkhttpd webfsd thttpd",
    row(
      "folders",
      "-p,--port= -l,--listen= -a= -d,--directory= -s,--single -i -o -c= -P,--proxy=",
      {
        below: wholeReach,
        words: "code",
      },
    ),
  ),
  tcpdump: row("none", "-z,--postrotate-command=! -w=> -r= -i= -c= -s= -G= -W= -C="),
  mutt: row("none", "-s= -e=! -a= -c= -b= -F= -i= -H="),
};

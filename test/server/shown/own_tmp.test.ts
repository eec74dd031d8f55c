import { expect, test } from "vitest";
import { tellOwnTmp } from "../../../server/shown/own_tmp.ts";

test.each([
  ["echo x > /tmp/a", true],
  ["ls /tmp", true],
  ["tar -C /tmp -xf a.tar", true],
  ["node -e \"fs.writeFileSync('/tmp/a', 1)\"", true],
  ["cat src/tmp/a ./tmp/a ~/tmp/a ../tmp/a /srv/tmp/a", false],
  ["cat /tmpfile", false],
])("%s names a file of /tmp: %s", (command, names) => {
  expect(tellOwnTmp(command, "bubblewrap") !== null).toBe(names);
  expect(tellOwnTmp(command, "landlock")).toBeNull();
});

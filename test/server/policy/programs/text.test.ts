import { testFamily } from "./family.ts";

testFamily({
  stopped: [
    "cat .env",
    "head -n 1 .env",
    "sort -o .env a",
    "sort --compress-program='git push --force' a",
    "wc --files0-from=.env",
    "split --filter='git push --force' a",
    "jq -f .env a",
    "jq --rawfile a .env -n '$a'",
    "iconv -f utf8 .env",
    "patch -o .env a b",
    "sed -f .env a",
    "xxd a .env",
  ],
  free: [
    "cat a",
    "sort -nr -k2 a",
    "cut -d: -f1 a",
    "jq -r '.env' a.json",
    "sed -n 1,2p a",
    "wc -l a",
  ],
});

import { testFamily } from "./family.ts";

testFamily({
  stopped: [
    "grep x .env",
    "grep -f .env a",
    "rg x .env",
    "rg --pre 'git push --force' x",
    "file -m .env a",
    "find . -name x -exec git push --force \\;",
    "find . -fprint .env",
    "ag --pager='git push --force' x",
  ],
  free: [
    "grep -rn .env src",
    "rg -g '!.env' x",
    "ls -la .env",
    "stat .env",
    "du -sh .env",
    "tree -a",
    "find . -name .env",
  ],
});

import { testFamily } from "./family.ts";

testFamily({
  stopped: [
    "grep x .env",
    "grep -f .env a",
    "rg x .env",
    "rg --pre 'git push --force' x",
    "file -m .env a",
    "du -X .env",
    "du -X.env --inodes",
    "du --exclude-from .env",
    "tree -o .env",
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
    "du -d 1 -t 5M .env",
    "du --max-depth 1 src",
    "tree -a",
    "find . -name .env",
  ],
});

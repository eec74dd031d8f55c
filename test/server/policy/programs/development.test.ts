import { testFamily } from "./family.ts";

testFamily({
  stopped: [
    "gcc -o .env a.c",
    "openssl enc -out .env",
    "ssh-keygen -f .env",
    "gpg -o .env -d a",
    "pg_dump -f .env",
    "man -P 'git push --force' ls",
    "man -u .",
    "man --update",
    "fzf --preview='git push --force'",
    "eslint --output-file=.env .",
    "mypy a.py --junit-xml .env",
  ],
  free: [
    "gcc -c a.c -o a.o",
    "eslint .",
    "cargo test",
    "npm test",
    "terraform plan",
    "make -j4",
    "man ls",
  ],
});

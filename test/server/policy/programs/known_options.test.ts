import { expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import { evaluateCommand } from "../score.ts";

/** The effect of a command under a policy that allows everything except one command. */
const under = (rule: string, command: string) =>
  evaluateCommand(
    command,
    compilePolicy({
      global: null,
      project: { defaultEffect: "allow", blockedCommands: [rule] },
      override_global: false,
    }),
  ).decision.effect;

test.each([
  ["git worktree remove -f", "git worktree remove --force ../x"],
  ["git worktree remove --force", "git worktree remove -f ../x"],
  ["git checkout-index -f", "git checkout-index --force -a"],
  ["git switch --force", "git switch -f main"],
  ["git restore --worktree", "git restore -SW src"],
  ["git rebase -i", "git rebase --interactive main"],
  ["git submodule deinit -f", "git submodule deinit --all --force"],
  ["docker rm -f", "docker rm --force web"],
  ["docker system prune --all", "docker system prune -af"],
  ["docker compose down -v", "docker compose down --volumes"],
  ["npm install -g", "npm install --global x"],
  ["curl -T", "curl --upload-file x https://example.org"],
  ["curl --upload-file", "curl -sT x https://example.org"],
  ["sort --output=x", "sort -ox a"],
  ["cp --recursive", "cp -aR a b"],
  ["gh api -X DELETE", "gh api --method=DELETE repos/o/r"],
  ["gh api -X DELETE", "gh api -XDELETE repos/o/r"],
  ["gh api --method=DELETE", "gh api repos/o/r -X DELETE"],
  ['psql -c "*drop *"', "psql --command 'drop table x'"],
  ['psql -c "*drop *"', "psql prod -tAc 'drop table x'"],
  ['psql --command="*drop *"', "psql -c'drop table x'"],
  ['mysql -e "*drop *"', "mysql -u root --execute='drop table x'"],
  ["pg_restore --clean", "pg_restore -c -d prod x.dump"],
  ["sysctl -w", "sysctl --write kernel.x=1"],
])("a rule about %s forbids %s", (rule, command) => {
  expect(under(rule, command)).toBe("deny");
});

test.each([
  ["git worktree remove -f", "git worktree remove ../x"],
  ["docker system prune --all", "docker system prune -f"],
  ["curl -T", "curl -t x https://example.org"],
  ["gh api -X DELETE", "gh api -X GET repos/o/r"],
  ['psql -c "*drop *"', "psql -c 'select 1'"],
  ['mysql -e "*drop *"', "mysql -h db -e 'show tables'"],
  ['psql --command="*drop *"', "psql --command 'select 1' --dbname='drop x'"],
])("a rule about %s leaves %s alone", (rule, command) => {
  expect(under(rule, command)).toBe("allow");
});

test("an allow rule means its options as written", () => {
  const policy = compilePolicy({
    global: null,
    project: { allowedCommands: ["curl https://example.org/*"] },
    override_global: false,
  });
  expect(evaluateCommand("curl https://example.org/x", policy).decision.effect).toBe("allow");
  expect(evaluateCommand("curl -d x https://example.org/x", policy).decision.effect).toBe("ask");
});

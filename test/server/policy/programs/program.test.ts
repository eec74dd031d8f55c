import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import { policyTemplate } from "../../../../server/policy/templates.ts";
import { evaluateCommand, ROOT } from "../score.ts";

const effectOf = (command: string, name: "balanced" | "permissive") =>
  evaluateCommand(
    command,
    compilePolicy({ global: null, project: policyTemplate(name), override_global: false }),
  ).decision.effect;

describe("a program that writes outside the project", () => {
  test.each([
    ...["psql -o ~/.bashrc -c 'select 1'", "psql --output=/srv/x -f a.sql", "psql -o/srv/x -c x"],
    ...["psql -L /srv/log -c x", "mysql --tee=/srv/x -e 'select 1'", "redis-cli --rdb /srv/x"],
    ...["valgrind --log-file=/srv/x ls", "valgrind --massif-out-file=/srv/x ls"],
    ...["xvfb-run -e /srv/x ls", "xvfb-run --auth-file=/srv/x ls"],
    ...["magick x.png /srv/x.png", "qpdf a.pdf /srv/a.pdf", "pdftotext a.pdf ~/.bashrc"],
    ...["snyk test --json-file-output=/srv/x", "cosign sign-blob x --output-signature /srv/x"],
    ...["gcloud storage cp gs://b/x ~/.bashrc", "cmake -S . -B /srv/x", "ninja -C /srv/x"],
    ...["npm install --prefix ~/x y", "npm -C /srv/x run build", "yarn --cwd ../x add y"],
    ...["python3 -m venv ~/x", "uv venv ../x", "cargo new ~/x", "pip download -d /srv/x y"],
    ...["prettier --write ~/.bashrc", "black ../x.py", "shfmt -w ~/.bashrc", "ruff format /srv/x"],
    ...["eslint --fix ../x", "rustfmt ~/x.rs", "gofmt -l -w /srv/x.go"],
  ])("is not allowed: %s", (command) => {
    expect(effectOf(command, "permissive")).not.toBe("allow");
    expect(effectOf(command, "balanced")).not.toBe("allow");
  });
});

describe("a program that writes inside the project", () => {
  test.each([
    ...["psql -o out.txt -c 'select 1'", "mysql --tee=out.txt -e 'select 1'", "black ."],
    ...["magick identify x.png", "magick x.png y.png", "pdftotext a.pdf -", "cmake -S . -B build"],
    ...[`npm --prefix ${ROOT}/ui run build`, "uv venv .venv", "cargo new x", `black ${ROOT}`],
    ...["prettier --check ~/x", "gofmt -l /srv/x.go", "eslint ../x", "ruff check ../x"],
  ])("is allowed by permissive: %s", (command) => {
    expect(effectOf(command, "permissive")).toBe("allow");
  });
});

test.each(["yarn exec 'rm -rf ~'", "pnpm exec 'rm -rf ~'", "npm exec -- rm -rf ~"])(
  "a package manager runs its words: %s",
  (command) => {
    expect(effectOf(command, "permissive")).toBe("deny");
  },
);

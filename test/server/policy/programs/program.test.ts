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
    ...[
      "aws s3api get-object --bucket b --key k ~/.bashrc",
      "aws apigateway get-sdk --id a /srv/x",
    ],
    ...["aws s3 cp s3://b/k ~/.bashrc --sse AES256", "aws s3 cp --quiet s3://b/k /srv/x"],
    ...["az storage blob download -c c -n b -f /srv/x", "gcloud storage cp -n gs://b/x /srv/x"],
    ...["syft -o json=/srv/x .", "rails new ~/app", "npm create vite@latest ../app -- --x y"],
    ...[
      "docker build -o type=tar,dest=/srv/x .",
      "docker run --cidfile ../x a",
      "helm create ../x",
    ],
    ...[
      "docker compose cp c:/x ~/.bashrc",
      "go test -trace=../x .",
      "cargo install --root /srv/x y",
    ],
    ...[
      "python3 -m zipapp a -o ../x",
      "python3 -m pip install --target ../x y",
      "mypy --cache-dir=../x",
    ],
    ...[
      "pytest --cov-report=html:../x",
      "node --cpu-prof-dir=../x a.js",
      "make DESTDIR=/srv/x install",
    ],
    ...["terraform fmt ../x", "protoc --go_out=../x a.proto", "ffmpeg -i a.mp4 ../b.mp4 -y"],
    ...["sqlite3 ../x.db 'create table t(a)'", "curl -w '%output{/srv/x}' https://x.org"],
    ...[
      "git -C ../x pull",
      "git submodule add https://x.org ../x",
      "git checkout-index --prefix=../x/",
    ],
    ...["flock /srv/x ls", "flock -n ~/.bashrc ls", "lockf -t 5 ../x ls", "script -O ../x -c ls"],
    ...["hyperfine --export-csv ../x ls", "GOBIN=/srv/bin go install .", "7z a ../x.7z src"],
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
    ...["aws s3api get-object --bucket b --key k out.bin", "aws s3 cp s3://b/x . --recursive"],
    ...["aws logs tail /aws/lambda/x --follow", "aws ssm get-parameters-by-path --path /x/y"],
    ...["gh api /user/repos", "kubectl get --raw /healthz", "kubectl diff -f /tmp/x.yaml"],
    ...[
      "docker build -f /tmp/Dockerfile ../app",
      "docker exec web ls /app",
      "docker load -i /tmp/x",
    ],
    ...[
      "helm template x ../chart -f /tmp/x.yaml",
      "terraform plan -var-file=/tmp/x",
      "make -f ../x.mk",
    ],
    ...[
      "pip install -r /tmp/x.txt",
      "pytest -c ../pytest.ini",
      "cmake -S ../src -DX=/opt/x -B build",
    ],
    ...["mypy ../lib", "flake8 --config=/tmp/x src", "mvn -s ../x.xml test", "tar xzf /tmp/x.tgz"],
    ...["ffmpeg -i /tmp/a.mp4 b.mp4", "pandoc /tmp/a.md -o a.html", "sqlite3 ../x.db .schema"],
    ...["git -C ../x log -1", "flock .lock ls", "python3 gen.py --input /tmp/x", "lsof /var/log/x"],
    ...["psql -h /var/run/postgresql -c 'select 1'", "consul kv get /a/b", "hyperfine ls"],
  ])("is allowed by permissive: %s", (command) => {
    expect(effectOf(command, "permissive")).toBe("allow");
  });
});

test.each(["flock /srv/x ls", "flock -n ~/.bashrc cat a", "lockf /srv/x ls"])(
  "a lock is a file that is made, so a rule about the command does not allow it: %s",
  (command) => {
    expect(effectOf(command, "balanced")).toBe("ask");
  },
);

test.each(["yarn exec 'rm -rf ~'", "pnpm exec 'rm -rf ~'", "npm exec -- rm -rf ~"])(
  "a package manager runs its words: %s",
  (command) => {
    expect(effectOf(command, "permissive")).toBe("deny");
  },
);

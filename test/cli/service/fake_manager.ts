import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Writes a fake `systemctl` and `journalctl` that start the unit's program, because test containers
 * have no systemd.
 */
export function installFakeSystemd(folder: string): { bin: string; calls: () => string[] } {
  const bin = join(folder, "fake-bin");
  const state = join(folder, "fake-state");
  mkdirSync(bin);
  mkdirSync(state);
  const script = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/bash\nstate='${state}'\n${text}`);
    chmodSync(join(bin, name), 0o755);
  };
  script("systemctl", SYSTEMCTL);
  script("journalctl", JOURNALCTL);
  const log = join(state, "calls");
  writeFileSync(log, "");
  const calls = () => readFileSync(log, "utf8").trim().split("\n").filter((line) => line !== "");
  return { bin, calls };
}

const SYSTEMCTL = `
unit="$HOME/.config/systemd/user/gate.service"
alive() { [ -s "$state/pid" ] && kill -0 "$(cat "$state/pid")" 2>/dev/null; }
end() {
  alive || return 0
  kill "$(cat "$state/pid")"
  while alive; do sleep 0.02; done
}
begin() {
  while IFS= read -r line; do
    case "$line" in
      Environment=*) eval "export \${line#Environment=}" ;;
      ExecStart=*) command="\${line#ExecStart=}" ;;
    esac
  done < "$unit"
  eval "exec setsid $command" </dev/null >>"$state/journal" 2>&1 &
  echo $! > "$state/pid"
}
[ "$1" = --user ] || exit 9
[ ! -e "$state/no-session" ] || { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
case "$2" in
  show)
    [ "$3" = gate.service ] || { echo Version=252; exit 0; }
    [ -e "$state/enabled" ] && echo UnitFileState=enabled
    if alive; then
      printf 'ActiveState=active\\nSubState=running\\nMainPID=%s\\nResult=success\\n' "$(cat "$state/pid")"
    else printf 'ActiveState=inactive\\nSubState=dead\\nMainPID=0\\nResult=success\\n'; fi
    exit 0 ;;
esac
echo "\${*:2}" >> "$state/calls"
case "$2" in
  enable) touch "$state/enabled" ;;
  restart) end; begin ;;
  disable) rm -f "$state/enabled"; end ;;
esac
`;

const JOURNALCTL = `
echo "$*" >> "$state/journal-calls"
[ -s "$state/journal" ] && cat "$state/journal"
case " $* " in *" -f "*) exec tail -n 0 -f "$state/journal" ;; esac
exit 0
`;

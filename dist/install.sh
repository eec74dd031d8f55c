#!/bin/sh
# Installs the gate for this machine: sh install.sh <release> [folder]
#
#   <release>  the https:// address or the folder of a release, such as dist/bin
#   [folder]   the folder for the executable; the default is ~/.local/bin
#
# The file is checked against checksums.txt of the release before it is installed.
set -eu

main() {
  [ -n "${1:-}" ] || fail "name the address or folder of a release: sh install.sh <release> [folder]"
  release=$1
  folder=${2:-"$HOME/.local/bin"}
  name="gate-$(machine)"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  get "$release/checksums.txt" "$work/checksums.txt"
  get "$release/$name" "$work/$name"
  check "$work" "$name"
  mkdir -p "$folder"
  chmod 755 "$work/$name"
  # Rename within the folder: running processes keep the old file, and no half file is visible.
  cp "$work/$name" "$folder/.gate.new"
  mv -f "$folder/.gate.new" "$folder/gate"
  ln -sf gate "$folder/scenario-tool"
  echo "$("$folder/gate" --version) is in $folder"
  case ":$PATH:" in
    *":$folder:"*) ;;
    *) echo "Put it on your PATH: export PATH=\"$folder:\$PATH\"" ;;
  esac
}

machine() {
  case "$(uname -s)" in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "there is no executable for $(uname -s) here" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no executable for $(uname -m)" ;;
  esac
  musl=""
  # The musl build also needs libstdc++: apk add libstdc++
  if [ "$os" = linux ] && [ -e /etc/alpine-release ]; then musl=-musl; fi
  echo "$os-$arch$musl"
}

get() {
  case "$1" in
    https://*) curl --fail --silent --show-error --location --proto '=https' -o "$2" "$1" ;;
    http://*) fail "\"$1\" is not encrypted: use https" ;;
    *)
      [ -r "$1" ] || fail "cannot read \"$1\": give the address or folder of a release"
      cp "$1" "$2"
      ;;
  esac
}

check() {
  wanted=$(awk -v name="$2" '$2 == name { print $1 }' "$1/checksums.txt")
  [ -n "$wanted" ] || fail "checksums.txt does not know $2"
  if command -v sha256sum >/dev/null; then
    found=$(sha256sum "$1/$2")
  else
    found=$(shasum -a 256 "$1/$2")
  fi
  [ "${found%% *}" = "$wanted" ] || fail "$2 is not what checksums.txt says: nothing was installed"
}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

main "$@"

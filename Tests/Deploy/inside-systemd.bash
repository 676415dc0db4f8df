# For the scripts that run inside a systemd of a check's own: it ends with them.
# shellcheck shell=bash

export HOME=/root
trap 'systemctl --force exit' EXIT

fail() {
  printf 'failed: %s\n' "$*"
  exit 1
}

# wait_for WHAT COMMAND...: until the command succeeds.
wait_for() {
  local end=$((SECONDS + 300)) what=$1
  shift
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $end ] || fail "gave up waiting for $what"
    sleep 0.1
  done
}

# running UNIT: its process.
running() { systemctl show --value --property MainPID "$1"; }

# For the scripts that run inside a systemd of a check's own: it ends with them.
# shellcheck shell=bash

export HOME=/root
trap 'systemctl --force exit' EXIT

fail() {
  printf 'failed: %s\n' "$*"
  exit 1
}

# shellcheck source=Tests/Deploy/waiting.bash
. "$(dirname "${BASH_SOURCE[0]}")/waiting.bash"

# running UNIT: its process.
running() { systemctl show --value --property MainPID "$1"; }

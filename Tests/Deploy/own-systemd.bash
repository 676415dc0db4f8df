# A systemd of a check's own, in namespaces, that runs one script beside units of Martlet. For check-systemd and check-package.
# shellcheck shell=bash

# write_units DIRECTORY LOGS COMMAND: units for a systemd that sees its logs in LOGS: the targets of a machine, Redis, and the command, whose output
# is LOGS/check. The system's own units would start much more.
write_units() {
  local name
  mkdir -p "$1/service.d"
  for name in sysinit basic shutdown umount final exit network-online multi-user; do
    printf '[Unit]\nDefaultDependencies=no\n' > "$1/$name.target"
  done
  printf '[Unit]\nDefaultDependencies=no\nWants=check.service\n' > "$1/check.target"
  cat > "$1/check.service" << END
[Service]
Type=oneshot
ExecStart=$3
StandardOutput=append:$2/check
StandardError=append:$2/check
END
  cat > "$1/redis-server.service" << END
[Service]
ExecStart=/usr/bin/redis-server --bind 127.0.0.1 --port 6379 --save "" --appendonly no --dir /run --logfile $2/redis
END
  # There is no journal.
  printf '[Service]\nStandardError=append:%s/%%n\n' "$2" > "$1/service.d/log.conf"
}

# run_systemd DIRECTORY LOGS LOGS_INSIDE UNIT_PATH PREPARATION: runs the units, and prints what was checked. LOGS_INSIDE is how systemd sees LOGS.
# PREPARATION is a script that mounts what systemd finds. Exits with 3 if namespaces cannot be had here.
run_systemd() {
  local status=0 name
  name=$(basename "$0")
  mkdir -p "$1/group"
  cat > "$1/outer" << END
set -euo pipefail
mount --make-rprivate /
mount -t cgroup2 none "$1/group"
group=$1/group/martlet-check-\$\$
mkdir "\$group"
finish() {
  # The last processes may be about to end.
  for _ in {1..50}; do
    find "\$group" -depth -type d -exec rmdir {} + 2> /dev/null && return
    sleep 0.1
  done
}
trap finish EXIT
( echo \$BASHPID > "\$group/cgroup.procs"
  exec timeout --kill-after=5 1800 unshare --pid --mount --cgroup --ipc --uts --net --fork --kill-child /bin/bash "$1/inner" )
END
  cat > "$1/inner" << END
set -euo pipefail
mount --make-rprivate /
ip link set lo up
$5
# As a booted machine: credentials are passed by it.
mount --make-rshared /
touch "$3/started"
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin container=other SYSTEMD_UNIT_PATH=$4 \\
  /lib/systemd/systemd --system --unit=check.target --log-target=console --show-status=no
END
  unshare --mount /bin/bash "$1/outer" > "$2/systemd" 2>&1 || status=$?
  if [ ! -e "$2/started" ]; then
    printf '%s: no namespaces here, so no systemd was started: %s\n' "$name" "$(tail -n 1 "$2/systemd")" >&2
    exit 3
  fi
  if ! grep -qx 'done' "$2/check" 2> /dev/null; then
    printf '%s: failed inside systemd (%s):\n' "$name" $status >&2
    find "$2" -type f ! -name check -size +0 -exec tail -n 10 {} + >&2
    tail -n 20 "$2/check" >&2
    exit 1
  fi
  sed -n 's/^checked: //p' "$2/check"
}

# shellcheck shell=bash
# Sourced by check-image: runs the image's programs as a container would.
# Expects: $work, $root (the mounted image), $user, $entry_point, $image_environment, $settings.

fail() {
  printf 'The image: %s\n' "$1" >&2
  tail -n 20 "$work"/*.log >&2 2> /dev/null || true
  exit 1
}

# shellcheck source=Tests/Deploy/waiting.bash
. Tests/Deploy/waiting.bash

free_port() { Tests/Deploy/free-port; }

# shellcheck disable=SC2016 # of the inner shell
# run LOG WRITABLE_DIRECTORY ARGUMENT...: the entry point as process 1: read-only, as its user, without a shell. `settings` is
# its environment.
run() {
  local log=$1 data=$2
  shift 2
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "${image_environment[@]}" "${settings[@]}" \
    setsid unshare --mount --pid --fork --kill-child=KILL -- bash -c '
      set -e
      root=$1 data=$2 user=$3
      shift 3
      mount --bind "$root" "$root"
      mount -t proc proc "$root/proc"
      mount --rbind /dev "$root/dev"
      [ -z "$data" ] || mount --bind "$data" "$root/srv"
      for shell in bash dash sh; do
        [ ! -e "$root/bin/$shell" ] || mount --bind /dev/null "$root/bin/$shell"
      done
      mount -o remount,bind,ro "$root"
      exec chroot --userspec="$user" "$root" "$@"' - "$root" "$data" "$user" "${entry_point[@]}" "$@" \
    < /dev/null > "$work/$log.out" 2> "$work/$log.log" &
  pids+=($!)
}

# The process 1 of the container whose `unshare` is $1.
process_of() { pgrep -P "$1"; }

# stop PID: SIGTERM to its process 1, and its exit status.
stop() {
  kill -TERM "$(process_of "$1")"
  wait "$1"
}

# refused LOG TEXT...: the container that was started last exits with 2, and its log has each text.
refused() {
  local log=$1 status=0
  shift
  wait "${pids[-1]}" || status=$?
  unset 'pids[-1]'
  [ "$status" -eq 2 ] || fail "$log: ends with $status, not 2"
  for text in "$@"; do
    grep -qF -- "$text" "$work/$log.log" || fail "$log: does not say: $text"
  done
}

# shellcheck shell=bash
# Sourced by checks that end at their first fault. Expects: fail MESSAGE, which ends the check.

# wait_for WHAT COMMAND...: until the command succeeds; `patience` is the limit in seconds.
wait_for() {
  local end=$((SECONDS + ${patience:-300})) what=$1
  shift
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $end ] || fail "gave up waiting for $what"
    sleep 0.1
  done
}

# Steps and lanes of checks, for .ci/run and .ci/check. The checks mostly wait, so several lanes run at once, each with its own priority.
# Each step says when it has ended; .build/ci has its output.
# shellcheck shell=bash

readonly logs=.build/ci
readonly programs=.build/release
declare -A lanes

# optional COMMAND...: exit code 3 means that something could not be had here, and the check did not run or did not end. With STRICT, that is a
# fault.
optional() {
  "$@" || { [ $? -eq 3 ] && [ -z "${STRICT-}" ]; }
}

# step NAME COMMAND...
step() {
  local name=$1 started=$SECONDS status=0
  shift
  mkdir -p $logs
  "$@" > "$logs/$name.log" 2>&1 || status=$?
  if [ $status -eq 0 ]; then
    printf '\n%s passed after %s s, %s s after the start\n%s\n' "$name" $((SECONDS - started)) $SECONDS "$(tail -n 5 "$logs/$name.log")"
  else
    printf '\n%s failed with %s after %s s\n%s\n' "$name" $status $((SECONDS - started)) "$(tail -n 100 "$logs/$name.log")" >&2
  fi
  return $status
}

# start NAME: a function, beside what follows.
start() {
  set -m
  "$1" &
  lanes[$1]=$!
  set +m
}

# finish NAME
finish() {
  local status=0
  wait "${lanes[$1]}" || status=$?
  unset "lanes[$1]"
  return $status
}

stop_lanes() {
  local group
  for group in "${lanes[@]}"; do kill -- "-$group" 2> /dev/null || true; done
}
trap stop_lanes EXIT

# shellcheck shell=bash
# Sourced by checks that go on after a fault: they count them, and end with 1 if there are any.
faults=0

fault() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  faults=$((faults + 1))
}

# same WHAT EXPECTED SEEN: two lists of lines, in any order.
same() {
  local differences
  differences=$(diff <(sort -u <<< "$2") <(sort -u <<< "$3") | sed -n 's/^</  missing:/p; s/^>/  too much:/p') || true
  [ -z "$differences" ] || fault "$1:"$'\n'"$differences"
}

# Completion of martlet in bash; needs no other package.

_martlet() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=''
  local command=${COMP_WORDS[1]-} action=${COMP_WORDS[2]-}
  COMPREPLY=()

  if [ "$COMP_CWORD" -eq 1 ]; then
    words='worker sidecar dashboard all enqueue status result explain cancel queue broadcast channels dead tokens credentials doctor gateway health help --help --version'
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    return
  fi

  # The value of an option.
  case $previous in
    --output)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
    --from) words='sns onesignal notification-hubs gorush rpush csv' ;;
    --scopes) words='devices tokens push jobs devices,tokens devices,push tokens,push' ;;
    --secret) words='-' ;;
    --role) words='viewer operator admin' ;;
    --storage) words='newest none' ;;
    --environment) words='production sandbox' ;;
    --queue | --user | --token | --instance | --activity | --channel | --live-activity | --app | --id | --title | --subtitle | --body | --badge | --sound | --category | \
      --thread-id | --class | --preview | --data | --payload | --push-type | --priority | --collapse-id | --ttl | \
      --expiration | --send-at | --dedupe | --reply-to | --trace | --interval | --reason | --limit | --by | --bundle | --rate | --burst | --daily | --label | \
      --address)
      return ;;
  esac
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    return
  fi

  case $command in
    enqueue)
      words='--queue --user --token --instance --activity --channel --app --id --title --subtitle --body --badge --sound --category
        --thread-id --class --preview --data --payload --live-activity --push-type --priority --collapse-id --ttl --expiration --send-at --dedupe
        --reply-to --trace --at-most-once --json --dry-run' ;;
    status) words='--watch --interval --json' ;;
    result) words='--json --raw' ;;
    explain) words='--user --token --instance --activity --queue --json --full-tokens' ;;
    cancel) words='--queue --json' ;;
    queue)
      case $COMP_CWORD:$action in
        2:*) words='pause resume' ;;
        *:pause) words='--reason --by --json' ;;
        *:resume) words='--json' ;;
      esac ;;
    broadcast)
      case $COMP_CWORD:$action in
        2:*) words='list show pause resume cancel' ;;
        *:list) words='--limit --queue --json' ;;
        *:pause) words='--queue --by --json' ;;
        *:show | *:resume | *:cancel) words='--queue --json' ;;
      esac ;;
    channels)
      case $COMP_CWORD:$action in
        2:*) words='list create show delete adopt' ;;
        *:list | *:show | *:delete) words='--app --json' ;;
        *:create) words='--app --storage --json' ;;
        *:adopt) words='--id --environment --app --json' ;;
      esac ;;
    doctor) words='--channels --json' ;;
    gateway) words='--environment --app --token --renew --idle --json' ;;
    health) words='--address --ready' ;;
    dead)
      case $COMP_CWORD:$action in
        2:*) words='list show requeue purge' ;;
        *:list) words='--reason --queue --limit --json --raw' ;;
        *:show) words='--json --raw' ;;
        *:requeue | *:purge) words='--reason --queue --limit --dry-run' ;;
      esac ;;
    tokens)
      case $COMP_CWORD:$action in
        2:*) words='export import migrate' ;;
        *:export) words='--json' ;;
        *:import) words='--from --bundle --dry-run --json' ;;
        *:migrate) words='--bundle --output --import --json' ;;
      esac ;;
    credentials)
      case $COMP_CWORD:$action in
        2:*) words='add list revoke enable disable' ;;
        *:add) words='--label --secret --disabled --json --app --scopes --rate --burst --daily --role' ;;
        *:list) words='--json' ;;
        *:revoke) words='--label' ;;
      esac
      [ "$COMP_CWORD" -ne 3 ] || words="user key instance operator $words" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$current")
  # A file is named behind `tokens export` and its like.
  if [ "$command" = tokens ] && [ "$COMP_CWORD" -gt 2 ] && [[ $current != -* ]]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -o filenames -F _martlet martlet

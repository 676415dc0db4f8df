# Completion of martlet in bash; needs no other package.

_martlet() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words='--help' files=''
  COMPREPLY=()

  # The value of an option.
  case $previous in
    --environment)
      mapfile -t COMPREPLY < <(compgen -W 'production sandbox' -- "$current")
      return ;;
    --from)
      mapfile -t COMPREPLY < <(compgen -W 'sns onesignal notification-hubs gorush rpush csv' -- "$current")
      return ;;
    --output)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
    --role)
      mapfile -t COMPREPLY < <(compgen -W 'viewer operator admin' -- "$current")
      return ;;
    --scopes)
      mapfile -t COMPREPLY < <(compgen -W 'devices tokens push jobs' -- "$current")
      return ;;
    --storage)
      mapfile -t COMPREPLY < <(compgen -W 'newest none' -- "$current")
      return ;;
    --activity | --address | --app | --badge | --body | --bundle | --burst | --by | --category | --channel | --class | \
      --collapse-id | --daily | --data | --dedupe | --expiration | --id | --instance | --interval | --label | --limit | \
      --live-activity | --payload | --preview | --priority | --push-type | --queue | --rate | --reason | --reply-to | \
      --secret | --send-at | --sound | --subtitle | --thread-id | --title | --token | --trace | --ttl | --user)
      return ;;
  esac

  if [ "$COMP_CWORD" -eq 1 ]; then
    words='worker sidecar dashboard all enqueue status result explain cancel queue broadcast channels dead tokens credentials doctor gateway health completion help --version --help'
  else
    case $COMP_CWORD:${COMP_WORDS[1]-}:${COMP_WORDS[2]-} in
      *:enqueue:*)
        words+=' --queue --user --token --instance --activity --channel --id --app --title --subtitle --body --badge --sound
        --category --thread-id --data --payload --live-activity --push-type --priority --collapse-id --expiration
        --ttl --class --preview --send-at --dedupe --at-most-once --reply-to --trace --json --dry-run'
        ;;
      *:status:*)
        words+=' --watch --interval --json'
        ;;
      *:result:*)
        words+=' --json --raw'
        ;;
      *:explain:*)
        words+=' --user --token --instance --activity --queue --json --full-tokens'
        ;;
      *:cancel:*)
        words+=' --queue --json'
        ;;
      2:queue:*) words+=' pause resume' ;;
      *:queue:pause)
        words+=' --reason --by --json'
        ;;
      *:queue:resume)
        words+=' --json'
        ;;
      2:broadcast:*) words+=' list show pause resume cancel' ;;
      *:broadcast:list)
        words+=' --limit --queue --json'
        ;;
      *:broadcast:show)
        words+=' --queue --json'
        ;;
      *:broadcast:pause)
        words+=' --queue --by --json'
        ;;
      *:broadcast:resume)
        words+=' --queue --json'
        ;;
      *:broadcast:cancel)
        words+=' --queue --json'
        ;;
      2:channels:*) words+=' list create show delete adopt' ;;
      *:channels:list)
        words+=' --app --json'
        ;;
      *:channels:create)
        words+=' --app --storage --json'
        ;;
      *:channels:show)
        words+=' --app --json'
        ;;
      *:channels:delete)
        words+=' --app --json'
        ;;
      *:channels:adopt)
        words+=' --id --environment --app --json'
        ;;
      2:dead:*) words+=' list show requeue purge' ;;
      *:dead:list)
        words+=' --reason --queue --limit --json --raw'
        ;;
      *:dead:show)
        words+=' --json --raw'
        ;;
      *:dead:requeue)
        words+=' --reason --queue --limit --dry-run'
        ;;
      *:dead:purge)
        words+=' --reason --queue --limit --dry-run'
        ;;
      2:tokens:*) words+=' export import migrate' ;;
      *:tokens:export)
        files=yes
        words+=' --json'
        ;;
      *:tokens:import)
        files=yes
        words+=' --from --bundle --dry-run --json'
        ;;
      *:tokens:migrate)
        files=yes
        words+=' --bundle --output --import --json'
        ;;
      2:credentials:*) words+=' add list revoke enable disable' ;;
      *:credentials:add)
        [ "$COMP_CWORD" -ne 3 ] || words+=' user key instance operator users'
        words+=' --secret --disabled --app --role --scopes --rate --burst --daily --label --json'
        ;;
      *:credentials:list)
        [ "$COMP_CWORD" -ne 3 ] || words+=' user key instance operator'
        words+=' --json'
        ;;
      *:credentials:revoke)
        [ "$COMP_CWORD" -ne 3 ] || words+=' user key instance operator'
        words+=' --label'
        ;;
      *:credentials:enable)
        [ "$COMP_CWORD" -ne 3 ] || words+=' user key instance operator'
        ;;
      *:credentials:disable)
        [ "$COMP_CWORD" -ne 3 ] || words+=' user key instance operator'
        ;;
      *:doctor:*)
        words+=' --channels --json'
        ;;
      *:gateway:*)
        words+=' --environment --app --token --renew --idle --json'
        ;;
      *:health:*)
        words+=' --address --ready'
        ;;
      2:completion:*) words+=' bash zsh fish' ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  [ -z "$files" ] || [[ $current = -* ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _martlet martlet

# Completion of apns-simulator in bash; needs no other package.

_apns_simulator() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words='--help' files=''
  COMPREPLY=()

  # The value of an option.
  case $previous in
    --dir)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return ;;
    --environment)
      mapfile -t COMPREPLY < <(compgen -W 'production sandbox' -- "$current")
      return ;;
    --journal)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
    --public-key)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
    --channels | --control | --initial-streams | --key-id | --listen | --max-streams | --name | --rtt | --team-id | \
      --token-updates | --topic)
      return ;;
  esac

  case $COMP_CWORD in
    *)
      words+=' --listen --channels --control --name --dir --environment --max-streams --initial-streams --rtt --key-id
      --team-id --public-key --token-updates --topic --apple --no-auth-check --no-ledger --journal'
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  [ -z "$files" ] || [[ $current = -* ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _apns_simulator apns-simulator

# Completion of apns-simulator in bash; needs no other package.

_apns_simulator() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local words='--listen --channels --control --name --dir --environment --max-streams --initial-streams --rtt --key-id --team-id --public-key --token-updates
    --topic --apple --no-auth-check --no-ledger --journal --help'
  COMPREPLY=()
  case $previous in
    --dir) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    --public-key | --journal) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    --environment) mapfile -t COMPREPLY < <(compgen -W 'production sandbox' -- "$current") ;;
    --listen | --channels | --control | --name | --max-streams | --initial-streams | --rtt | --key-id | --team-id | --token-updates | --topic) ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
  esac
}

complete -o filenames -F _apns_simulator apns-simulator

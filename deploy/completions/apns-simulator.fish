# Completion of apns-simulator in fish.

complete -c apns-simulator -f
complete -c apns-simulator -l help -d 'Show the help'
complete -c apns-simulator -l listen -x -d 'Where pushes come in'
complete -c apns-simulator -l control -x -d 'Where it is controlled over HTTP'
complete -c apns-simulator -l dir -x -a '(__fish_complete_directories)' -d 'Where its files are written'
complete -c apns-simulator -l name -x -d 'Further host name of the certificate'
complete -c apns-simulator -l max-streams -x -d 'Streams at once on a connection'
complete -c apns-simulator -l initial-streams -x -d 'Streams before the first valid provider token'
complete -c apns-simulator -l rtt -x -d 'Milliseconds added to every answer'
complete -c apns-simulator -l key-id -x -d 'Key id of provider tokens'
complete -c apns-simulator -l team-id -x -d 'Team id of provider tokens'
complete -c apns-simulator -l public-key -r -F -d 'Key that provider tokens are checked with'
complete -c apns-simulator -l token-updates -x -d 'Seconds between new provider tokens of the key'
complete -c apns-simulator -l topic -x -d 'Allowed topic'
complete -c apns-simulator -l no-auth-check -d 'Take pushes without a provider token'
complete -c apns-simulator -l no-ledger -d 'Keep totals only'
complete -c apns-simulator -l journal -r -F -d 'Append a line of JSON for every push'

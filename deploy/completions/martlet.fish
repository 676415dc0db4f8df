# Completion of martlet in fish.

# True if the words before the cursor begin with these.
function __martlet_is
  set -l words (commandline -opc)
  set -e words[1]
  test (count $words) -ge (count $argv); or return 1
  for i in (seq (count $argv))
    test $words[$i] = $argv[$i]; or return 1
  end
end

# True if the words before the cursor are exactly these.
function __martlet_ends
  set -l words (commandline -opc)
  set -e words[1]
  test (count $words) -eq (count $argv); and __martlet_is $argv
end

complete -c martlet -f
complete -c martlet -l help -d 'Show the help'
complete -c martlet -n __martlet_ends -l version -d 'Show the version'
complete -c martlet -n __martlet_ends -a worker -d 'Consume jobs and deliver them'
complete -c martlet -n __martlet_ends -a sidecar -d 'Register devices over HTTP'
complete -c martlet -n __martlet_ends -a dashboard -d 'Serve pages for operators'
complete -c martlet -n __martlet_ends -a all -d 'Run a worker, a sidecar and a dashboard in one process'
complete -c martlet -n __martlet_ends -a enqueue -d 'Check a job and queue it'
complete -c martlet -n __martlet_ends -a status -d 'Show queues, workers, rates, and what is paused or slow'
complete -c martlet -n __martlet_ends -a result -d 'Show the record of a job'
complete -c martlet -n __martlet_ends -a explain -d 'Say what happened to a job, or why an addressee gets nothing'
complete -c martlet -n __martlet_ends -a cancel -d 'Cancel a job'
complete -c martlet -n __martlet_ends -a queue -d 'Pause or resume a queue'
complete -c martlet -n __martlet_ends -a broadcast -d 'List, show, pause, resume or cancel broadcasts'
complete -c martlet -n __martlet_ends -a channels -d 'List, create, show, delete or adopt broadcast channels'
complete -c martlet -n __martlet_ends -a dead -d 'List, show, requeue or purge dead letters'
complete -c martlet -n __martlet_ends -a tokens -d 'Export, import or migrate device tokens'
complete -c martlet -n __martlet_ends -a credentials -d 'Add, list, revoke or disable tokens, keys and operators'
complete -c martlet -n __martlet_ends -a doctor -d 'Check settings, Redis, the provider key and APNs'
complete -c martlet -n __martlet_ends -a gateway -d 'Ask the gateway of APNs whether it does what is known of it'
complete -c martlet -n __martlet_ends -a health -d 'Ask a running service whether it works'
complete -c martlet -n __martlet_ends -a help -d 'List the commands'

complete -c martlet -n '__martlet_ends queue' -a pause -d 'Let no worker take its jobs'
complete -c martlet -n '__martlet_ends queue' -a resume -d 'Let workers take its jobs'

complete -c martlet -n '__martlet_ends broadcast' -a list -d 'List the latest broadcasts'
complete -c martlet -n '__martlet_ends broadcast' -a show -d 'Show a broadcast'
complete -c martlet -n '__martlet_ends broadcast' -a pause -d 'Stop after the current pages'
complete -c martlet -n '__martlet_ends broadcast' -a resume -d 'Continue after the last page'
complete -c martlet -n '__martlet_ends broadcast' -a cancel -d 'End after the current pages'

complete -c martlet -n '__martlet_ends channels' -a list -d 'Compare channels with those of APNs'
complete -c martlet -n '__martlet_ends channels' -a create -d 'Create a channel'
complete -c martlet -n '__martlet_ends channels' -a show -d 'Show a channel'
complete -c martlet -n '__martlet_ends channels' -a delete -d 'Delete a channel for good'
complete -c martlet -n '__martlet_ends channels' -a adopt -d 'Give a channel of APNs a name'

complete -c martlet -n '__martlet_ends dead' -a list -d 'List dead letters'
complete -c martlet -n '__martlet_ends dead' -a show -d 'Show a dead letter'
complete -c martlet -n '__martlet_ends dead' -a requeue -d 'Run dead letters again'
complete -c martlet -n '__martlet_ends dead' -a purge -d 'Delete dead letters'

complete -c martlet -n '__martlet_ends tokens' -a export -d 'Write a backup'
complete -c martlet -n '__martlet_ends tokens' -a import -d 'Read a backup'
complete -c martlet -n '__martlet_ends tokens' -a migrate -d 'Read an export of Parse'

complete -c martlet -n '__martlet_ends credentials' -a add -d 'Make a secret'
complete -c martlet -n '__martlet_ends credentials' -a list -d 'List names'
complete -c martlet -n '__martlet_ends credentials' -a revoke -d 'Delete a name'
complete -c martlet -n '__martlet_ends credentials' -a enable -d 'Allow a name again'
complete -c martlet -n '__martlet_ends credentials' -a disable -d 'Refuse a name'

complete -c martlet -n '__martlet_is cancel' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is cancel' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is queue pause' -l reason -x -d 'Why'
complete -c martlet -n '__martlet_is queue pause' -l by -x -d 'Operator'
complete -c martlet -n '__martlet_is queue pause' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is queue resume' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is channels list' -l app -x -d 'Of this app'
complete -c martlet -n '__martlet_is channels list' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is channels create' -l app -x -d 'Of this app'
complete -c martlet -n '__martlet_is channels create' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is channels show' -l app -x -d 'Of this app'
complete -c martlet -n '__martlet_is channels show' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is channels delete' -l app -x -d 'Of this app'
complete -c martlet -n '__martlet_is channels delete' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is channels adopt' -l app -x -d 'Of this app'
complete -c martlet -n '__martlet_is channels adopt' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is channels create' -l storage -x -a 'newest none' -d 'What APNs keeps for devices that are offline'
complete -c martlet -n '__martlet_is channels adopt' -l id -x -d 'Id of the channel'
complete -c martlet -n '__martlet_is channels adopt' -l environment -x -a 'production sandbox' -d 'Where it is'
complete -c martlet -n '__martlet_is broadcast list' -l limit -x -d 'At most this many'
complete -c martlet -n '__martlet_is broadcast pause' -l by -x -d 'Operator'
complete -c martlet -n '__martlet_is broadcast list' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is broadcast list' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is broadcast show' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is broadcast show' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is broadcast pause' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is broadcast pause' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is broadcast resume' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is broadcast resume' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is broadcast cancel' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is broadcast cancel' -l json -d 'Print JSON'


complete -c martlet -n '__martlet_is enqueue' -l queue -x -d 'List to push to'
complete -c martlet -n '__martlet_is enqueue' -l user -x -d 'Send to all devices of a user'
complete -c martlet -n '__martlet_is enqueue' -l token -x -d 'Send to a device'
complete -c martlet -n '__martlet_is enqueue' -l instance -x -d 'Send to an instance'
complete -c martlet -n '__martlet_is enqueue' -l activity -x -d 'Send to a Live Activity'
complete -c martlet -n '__martlet_is enqueue' -l channel -x -d 'Send to a channel of Live Activities'
complete -c martlet -n '__martlet_is enqueue' -l app -x -d 'Send to everyone registered for a bundle id'
complete -c martlet -n '__martlet_is enqueue' -l id -x -d 'Id of the job'
complete -c martlet -n '__martlet_is enqueue' -l title -x -d 'Title'
complete -c martlet -n '__martlet_is enqueue' -l subtitle -x -d 'Subtitle'
complete -c martlet -n '__martlet_is enqueue' -l body -x -d 'Body'
complete -c martlet -n '__martlet_is enqueue' -l badge -x -d 'Badge'
complete -c martlet -n '__martlet_is enqueue' -l sound -x -d 'Sound'
complete -c martlet -n '__martlet_is enqueue' -l category -x -d 'Category'
complete -c martlet -n '__martlet_is enqueue' -l thread-id -x -d 'Thread of the notification'
complete -c martlet -n '__martlet_is enqueue' -l class -x -d 'Class of a delivery policy'
complete -c martlet -n '__martlet_is enqueue' -l preview -x -d 'Preview for the class'
complete -c martlet -n '__martlet_is enqueue' -l data -x -d 'Object beside aps'
complete -c martlet -n '__martlet_is enqueue' -l payload -x -d 'Whole payload'
complete -c martlet -n '__martlet_is enqueue' -l live-activity -x -d 'What to do to a Live Activity'
complete -c martlet -n '__martlet_is enqueue' -l push-type -x -d 'Push type'
complete -c martlet -n '__martlet_is enqueue' -l priority -x -d 'Priority'
complete -c martlet -n '__martlet_is enqueue' -l collapse-id -x -d 'Collapse id'
complete -c martlet -n '__martlet_is enqueue' -l ttl -x -d 'Seconds until it expires'
complete -c martlet -n '__martlet_is enqueue' -l expiration -x -d 'Time when it expires'
complete -c martlet -n '__martlet_is enqueue' -l send-at -x -d 'Not before'
complete -c martlet -n '__martlet_is enqueue' -l dedupe -x -d 'Jobs with the same value are sent once'
complete -c martlet -n '__martlet_is enqueue' -l reply-to -x -d 'List for the record'
complete -c martlet -n '__martlet_is enqueue' -l trace -x -d 'W3C traceparent'
complete -c martlet -n '__martlet_is enqueue' -l at-most-once -d 'Rather lost than sent twice'
complete -c martlet -n '__martlet_is enqueue' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is enqueue' -l dry-run -d 'Check only'

complete -c martlet -n '__martlet_is status' -l watch -d 'Redraw until interrupted'
complete -c martlet -n '__martlet_is status' -l interval -x -d 'Seconds between redraws'
complete -c martlet -n '__martlet_is status' -l json -d 'Print JSON'

complete -c martlet -n '__martlet_is result' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is result' -l raw -d 'Print the bytes as Redis has them'

complete -c martlet -n '__martlet_is explain' -l user -x -d 'Explain a user'
complete -c martlet -n '__martlet_is explain' -l token -x -d 'Explain a device'
complete -c martlet -n '__martlet_is explain' -l instance -x -d 'Explain an instance'
complete -c martlet -n '__martlet_is explain' -l activity -x -d 'Explain a Live Activity'
complete -c martlet -n '__martlet_is explain' -l queue -x -d 'Look at this list only'
complete -c martlet -n '__martlet_is explain' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is explain' -l full-tokens -d 'Do not shorten tokens'

complete -c martlet -n '__martlet_is dead list' -l reason -x -d 'Whose reason contains the text'
complete -c martlet -n '__martlet_is dead list' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is dead list' -l limit -x -d 'At most this many'
complete -c martlet -n '__martlet_is dead list' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is dead list' -l raw -d 'Escape nothing'

complete -c martlet -n '__martlet_is dead show' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is dead show' -l raw -d 'Print the producer\'s bytes'

complete -c martlet -n '__martlet_is tokens export' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is tokens export' -F

complete -c martlet -n '__martlet_is tokens import' -l from -x -a 'sns onesignal notification-hubs gorush rpush csv' -d 'Read the devices of another sender'
complete -c martlet -n '__martlet_is tokens import' -l bundle -x -d 'App of devices without one'
complete -c martlet -n '__martlet_is tokens import' -l dry-run -d 'Print what the file has'
complete -c martlet -n '__martlet_is tokens import' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is tokens import' -F

complete -c martlet -n '__martlet_is tokens migrate' -l bundle -x -d 'Take the devices of this app'
complete -c martlet -n '__martlet_is tokens migrate' -l output -r -F -d 'File to write'
complete -c martlet -n '__martlet_is tokens migrate' -l import -d 'Write into Redis'
complete -c martlet -n '__martlet_is tokens migrate' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is tokens migrate' -F

complete -c martlet -n '__martlet_is credentials add' -l label -x -d 'Which secret of a user'
complete -c martlet -n '__martlet_is credentials add' -l secret -x -a '-' -d '- takes the secret from stdin'
complete -c martlet -n '__martlet_is credentials add' -l disabled -d 'Not to be used until enable'
complete -c martlet -n '__martlet_is credentials add' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_is credentials add' -l app -x -d 'The user or key is for this app only'
complete -c martlet -n '__martlet_is credentials add' -l scopes -x -a 'devices tokens push jobs devices,tokens devices,push tokens,push' -d 'What a key may do'
complete -c martlet -n '__martlet_is credentials add' -l rate -x -d 'Requests a second'
complete -c martlet -n '__martlet_is credentials add' -l burst -x -d 'Requests at once'
complete -c martlet -n '__martlet_is credentials add' -l daily -x -d 'Requests a UTC day'
complete -c martlet -n '__martlet_is credentials add' -l role -x -a 'viewer operator admin' -d 'What an operator may do'
complete -c martlet -n '__martlet_ends credentials add' -a 'user key instance operator' -d Kind

complete -c martlet -n '__martlet_is credentials list' -l json -d 'Print JSON'
complete -c martlet -n '__martlet_ends credentials list' -a 'user key instance operator' -d Kind

complete -c martlet -n '__martlet_is credentials revoke' -l label -x -d 'Only this secret of a user'
complete -c martlet -n '__martlet_ends credentials revoke' -a 'user key instance operator' -d Kind

complete -c martlet -n '__martlet_ends credentials enable' -a 'user key instance operator' -d Kind

complete -c martlet -n '__martlet_ends credentials disable' -a 'user key instance operator' -d Kind

complete -c martlet -n '__martlet_is doctor' -l channels -d 'Ask which origins serve channels'
complete -c martlet -n '__martlet_is doctor' -l json -d 'Print JSON'

complete -c martlet -n '__martlet_is gateway' -l environment -x -a 'production sandbox' -d 'The gateway'
complete -c martlet -n '__martlet_is gateway' -l app -x -d 'The app whose key signs'
complete -c martlet -n '__martlet_is gateway' -l token -x -d 'Also send to this device'
complete -c martlet -n '__martlet_is gateway' -l renew -d 'Also use a second provider token'
complete -c martlet -n '__martlet_is gateway' -l idle -d 'Also wait for 30 minutes'
complete -c martlet -n '__martlet_is gateway' -l json -d 'Print JSON'

complete -c martlet -n '__martlet_is health' -l address -x -d 'Its admin port'
complete -c martlet -n '__martlet_is health' -l ready -d 'Whether it can serve'

complete -c martlet -n '__martlet_is dead requeue' -l reason -x -d 'Whose reason contains the text'
complete -c martlet -n '__martlet_is dead requeue' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is dead requeue' -l limit -x -d 'At most this many'
complete -c martlet -n '__martlet_is dead requeue' -l dry-run -d 'Print what would be done'

complete -c martlet -n '__martlet_is dead purge' -l reason -x -d 'Whose reason contains the text'
complete -c martlet -n '__martlet_is dead purge' -l queue -x -d 'Of this list'
complete -c martlet -n '__martlet_is dead purge' -l limit -x -d 'At most this many'
complete -c martlet -n '__martlet_is dead purge' -l dry-run -d 'Print what would be done'

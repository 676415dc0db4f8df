# shellcheck shell=bash
# Sourced by check-image, after the worker ran: wrong settings and missing files. Each is named, and no job is lost.
# Expects what image-container expects, and $redis, $port, $tls_port, $data (mounted at /srv, with the simulator's directory), $good (valid settings).

# Secrets as files: missing, empty, of another user.
check_secret_files() {
  : > "$data/apns/empty"
  install -m 600 /dev/null "$data/apns/private"
  printf 'redis://127.0.0.1:%s\n' "$port" > "$data/apns/private"
  for file in missing:'cannot be read (No such file or directory)' empty:'the file is empty' private:'cannot be read (Permission denied)'; do
    settings=("${good[@]}" REDIS_URL= "REDIS_URL_FILE=/srv/apns/${file%%:*}")
    run secret "$data" worker
    refused secret REDIS_URL_FILE "${file#*:}"
  done
  settings=("${good[@]}" APNS_KEY_PATH=/srv/apns/missing.p8)
  run key "$data" worker
  refused key APNS_KEY_PATH '/srv/apns/missing.p8' 'cannot be read'
  settings=("${good[@]}" APNS_CA_CERT=/srv/apns/empty)
  run authority "$data" worker
  refused authority APNS_CA_CERT 'does not contain PEM'
  rm "$data/apns/private" "$data/apns/empty"
}

# keeps_jobs LOG SETTING: the worker that was started last reports the setting that is wrong, and every job stays in Redis.
keeps_jobs() {
  local pid=${pids[-1]}
  wait_for "$2 in the log of $1" grep -qF "set $2 to the authority that signed" "$work/$1.log"
  stop "$pid" || fail "$1: ends with $? at SIGTERM"
  unset 'pids[-1]'
  [ "$("${redis[@]}" LLEN push:jobs)" -eq 10 ] || fail "$1: $("${redis[@]}" LLEN push:jobs) of 10 jobs wait"
  [ "$("${redis[@]}" --scan --pattern 'martlet:*:dead' | wc -l)" -eq 0 ] || fail "$1: there are dead letters"
}

# An authority that signed neither certificate: the same jobs are delivered once it is corrected.
check_authorities() {
  "${redis[@]}" FLUSHALL > /dev/null
  enqueue 1 10
  settings=("${good[@]}" "REDIS_URL=rediss://127.0.0.1:$tls_port" REDIS_CA_CERT=/srv/apns/other.pem)
  run redis-authority "$data" worker
  keeps_jobs redis-authority REDIS_CA_CERT
  settings=("${good[@]}" APNS_CA_CERT=/srv/apns/other.pem)
  run apns-authority "$data" worker
  keeps_jobs apns-authority APNS_CA_CERT
  settings=("${good[@]}" "REDIS_URL=rediss://127.0.0.1:$tls_port" REDIS_CA_CERT=/srv/apns/redis.pem)
  run authorities "$data" worker
  wait_for 'the jobs that waited for the authorities' all_accepted 10
  stop "${pids[-1]}" || fail "authorities: ends with $? at SIGTERM"
  unset 'pids[-1]'
}

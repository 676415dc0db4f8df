# shellcheck shell=bash
# Sourced by check-image: a storage of its own for buildah, and base images where none can be pulled.
# Expects: $state (a directory that is kept), $work (one that is not).

# Exits with 3 where this machine refuses what the check rests on.
require_namespaces() {
  local refusal=''
  if [ "$(id -u)" -ne 0 ]; then
    refusal='only root may mount the image'
  elif ! refusal=$(unshare --mount --pid --fork -- bash -c 'mount -t proc proc /proc && mount --bind /tmp /mnt' 2>&1); then
    refusal="namespaces or mounts are refused: $refusal"
  fi
  [ -z "$refusal" ] || { printf 'check-image: the image was not checked, because %s\n' "$refusal" >&2; exit 3; }
}

# Overlays spare a copy of the whole file system for each step.
can_overlay() {
  mkdir -p "$state/try/lower" "$state/try/upper" "$state/try/work" "$state/try/merged"
  unshare --mount -- mount -t overlay \
    -o "lowerdir=$state/try/lower,upperdir=$state/try/upper,workdir=$state/try/work" none "$state/try/merged" 2> /dev/null
}

use_own_storage() {
  local driver=vfs
  ! can_overlay || driver=overlay
  rm -rf "$state/try"
  printf '[storage]\ndriver = "%s"\ngraphroot = "%s/%s"\nrunroot = "%s/run"\n' "$driver" "$state" "$driver" "$state" \
    > "$state/storage.conf"
  export CONTAINERS_STORAGE_CONF=$state/storage.conf
}

has_image() { buildah inspect --type image "$1" > /dev/null 2>&1; }

# debian:bookworm-slim: the smallest Debian; as in the real one packages have no documentation and are not synced to disk.
make_debian() {
  local archive=$work/debian.tar from
  printf 'Making debian:bookworm-slim.\n'
  # In memory, where dpkg's syncs take no time.
  TMPDIR=$memory mmdebstrap --quiet --mode=root --variant=minbase \
    --dpkgopt=force-unsafe-io --customize-hook='printf "path-exclude=/usr/share/%s/*\n" doc man > "$1/etc/dpkg/dpkg.cfg.d/slim"' \
    bookworm "$archive" 2> "$work/debian.log" || {
    cat "$work/debian.log" >&2
    printf 'check-image: the image was not checked, because its base can neither be pulled nor made here\n' >&2
    exit 3
  }
  from=$(buildah from scratch)
  buildah add -q "$from" "$archive" / > /dev/null
  buildah config --cmd bash "$from"
  buildah commit -q --rm "$from" debian:bookworm-slim > /dev/null
  rm "$archive"
}

# make_image NAME PACKAGE... -- [OPTION_OF_BUILDAH_CONFIG...]: Debian with these packages.
make_image() {
  local name=$1 packages=() from
  shift
  while [ "$1" != -- ]; do packages+=("$1") && shift; done
  shift
  printf 'Making %s.\n' "$name"
  from=$(buildah from --pull-never debian:bookworm-slim)
  buildah run --isolation chroot "$from" -- sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "$@" && apt-get clean' - "${packages[@]}" > "$work/packages.log" 2>&1 || {
    tail -n 5 "$work/packages.log" >&2
    printf 'check-image: the image was not checked, because %s cannot be made here\n' "$name" >&2
    exit 3
  }
  buildah config "$@" "$from"
  buildah commit -q --rm "$from" "$name" > /dev/null
}

# swift:6.3-bookworm without Swift: the toolchain is mounted during the build, as every step would copy it.
make_base_images() {
  has_image debian:bookworm-slim || make_debian
  has_image swift:6.3-bookworm ||
    make_image swift:6.3-bookworm binutils ca-certificates gcc git libc6-dev libedit2 libncurses6 libsqlite3-0 \
      libstdc++-12-dev libxml2 zlib1g-dev -- \
      --env "PATH=$toolchain/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

# redis:7.2-bookworm, which is the redis of Debian: its user is 999, and /data is that user's.
make_redis() {
  local from
  make_image redis:7.2-bookworm redis-server -- --cmd redis-server
  from=$(buildah from --pull-never redis:7.2-bookworm)
  buildah run --isolation chroot "$from" -- sh -c 'chmod 755 /etc/redis && install -d -o 999 -g 999 /data'
  buildah config --volume /data "$from"
  buildah commit -q --rm "$from" redis:7.2-bookworm > /dev/null
}

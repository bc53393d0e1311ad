# Starts and stops the servers for tests: MinIO, versitygw (a second S3 server that behaves differently
# in details), toxiproxy (a proxy that injects network faults) and PostgreSQL. Source it after tools.sh.
#
# A running server has a folder below .cache/servers:
#   owner   PID of the process it runs for; absent if it runs until it is stopped
#   pid     PID of the server, or `container`, the ID of its container
#   data    path of its data, in the system's temporary folder
#   signal  what stops it, if that is not TERM
#   env     shell assignments for its clients
#   log     its output
#
# The tests get the addresses in IDK_TEST_MINIO and IDK_TEST_VERSITYGW, as
# http://access:secret@host:port with access and secret percent-encoded, in IDK_TEST_TOXIPROXY, the URL
# of its API, and in IDK_TEST_POSTGRES, the URL of a database whose user may create others.

servers=$cache/servers
go_bin=$cache/go/bin

MINIO_MODULE=github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
VERSITYGW_MODULE=github.com/versity/versitygw/cmd/versitygw@v1.8.0
ACTIONLINT_MODULE=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
TOXIPROXY_MODULE=github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0

warn() {
  printf '%s\n' "$*" >&2
}

random_hex() {
  od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'
}

random_base64() {
  head -c "$1" /dev/urandom | base64 | tr -d '\n'
}

percent_encode() {
  local LC_ALL=C text=$1 i char
  for ((i = 0; i < ${#text}; i++)); do
    char=${text:i:1}
    case $char in
      [A-Za-z0-9._~-]) printf %s "$char" ;;
      *) printf '%%%02X' "'$char" ;;
    esac
  done
}

# Whether a server responds to a GET with 200. Usage: responds HOST PORT PATH
# Uses the shell only, so that no other tool is needed. A subshell, because a refused connection prints
# a message.
responds() {
  (
    exec 3<>"/dev/tcp/$1/$2" || exit
    printf 'GET %s HTTP/1.0\r\nHost: %s:%s\r\n\r\n' "$3" "$1" "$2" >&3
    read -r -t 5 line <&3 || exit
    [[ $line == *" 200"* ]]
  ) 2>/dev/null
}

# Whether a process exists, even if it belongs to another user and must not be signalled.
is_alive() {
  kill -0 "$1" 2>/dev/null || [ -d "/proc/$1" ] || ps -p "$1" >/dev/null 2>&1
}

# A free port on the loopback interface, below the ephemeral range. If another process takes it first,
# the server fails to start and `launch` tries another port.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  printf %s "$port"
}

# A Go that can build the servers, on the PATH or in a usual place. From 1.21, Go downloads the version
# that a module requires.
find_go() {
  local candidate version
  for candidate in "$(command -v go || true)" /usr/local/go/bin/go /opt/homebrew/bin/go \
    /usr/lib/go/bin/go /usr/lib/go-1.*/bin/go /snap/bin/go "${HOME:-/nonexistent}"/sdk/go*/bin/go; do
    [ -x "$candidate" ] || continue
    version=$(GOTOOLCHAIN=local "$candidate" env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
    if [ "${version:-0}" -ge 21 ]; then
      printf %s "$candidate"
      return
    fi
  done
  return 1
}

# Builds the pinned version of a program into .cache/go/bin if it is missing there.
build_server() {
  local name=$1 module=$2 go out
  [ -x "$go_bin/$name" ] && [ "$(cat "$go_bin/$name.module" 2>/dev/null)" = "$module" ] && return
  go=$(find_go) || {
    warn "$name: not installed, and it cannot be built because Go 1.21 or newer is not installed"
    return 1
  }
  say "Building $name from its Go module (once, some minutes)"
  mkdir -p "$go_bin"
  out=$(mktemp -d "$go_bin/build.$$.XXXXXX")
  if ! GOTOOLCHAIN=auto GOFLAGS=-trimpath GOBIN=$out "$go" install "$module" >&2; then
    rm -rf "$out"
    warn "$name: the build failed; see the messages of Go above"
    return 1
  fi
  # Concurrent builds are safe: each moves a whole file into place.
  mv "$out"/* "$go_bin/$name"
  printf '%s\n' "$module" >"$go_bin/$name.module"
  rmdir "$out"
}

# Prints the path of an executable on the PATH, or builds it.
find_server() {
  local name=$1 module=$2
  command -v "$name" && return
  build_server "$name" "$module" || return
  printf '%s\n' "$go_bin/$name"
}

# Starts a server in the background and waits until its health path responds, or, if $probe names a
# function, until that succeeds. The port is appended to the command.
# Usage: [probe=FUNCTION] launch DIR HEALTH_PATH COMMAND…
launch() {
  local dir=$1 health=$2 pid deadline
  shift 2
  for _ in 1 2 3 4 5; do
    port=$(free_port)
    # Detach it from our stdio; otherwise a reader of our output waits until the server exits.
    "$@" "$port" </dev/null >"$dir/log" 2>&1 &
    pid=$!
    printf '%s\n' "$pid" >"$dir/pid"
    deadline=$((SECONDS + 60))
    while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$deadline" ]; do
      if "${probe:-responds}" 127.0.0.1 "$port" "$health"; then
        # The response may come from another process that has the port while ours fails to bind it.
        sleep 0.2
        kill -0 "$pid" 2>/dev/null && return
      fi
      sleep 0.1
    done
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    # Try again only if the port was taken.
    grep -qi 'in use\|already' "$dir/log" || break
  done
  warn "the server did not start; the end of its log:"
  tail -n 20 "$dir/log" >&2
  return 1
}

new_data_dir() {
  local data
  data=$(mktemp -d "${TMPDIR:-/tmp}/idk-server.XXXXXX")
  printf '%s\n' "$data" >"$1/data"
  printf %s "$data"
}

# Prints the assignments of an S3 server. Usage: s3_env NAME URL ACCESS_KEY SECRET_KEY
s3_env() {
  printf 'export %s_ENDPOINT=%q\n' "$1" "$2"
  printf 'export %s_ACCESS_KEY=%q\n' "$1" "$3"
  printf 'export %s_SECRET_KEY=%q\n' "$1" "$4"
  printf 'export IDK_TEST_%s=%q\n' "$1" \
    "${2%%://*}://$(percent_encode "$3"):$(percent_encode "$4")@${2#*://}"
}

minio_command() {
  MINIO_ROOT_USER=$access MINIO_ROOT_PASSWORD=$secret MINIO_KMS_SECRET_KEY=$kms MINIO_BROWSER=off \
    exec "$binary" server --quiet --address "127.0.0.1:$1" "$data"
}

# Starts MinIO in Docker, from the image that docker-compose.yml pins.
minio_in_docker() {
  local dir=$1 image container port deadline
  command -v docker >/dev/null && docker info >/dev/null 2>&1 || return 1
  image=$(sed -n 's/^ *image: *//p' docker-compose.yml)
  container=$(MINIO_ROOT_USER=$access MINIO_ROOT_PASSWORD=$secret MINIO_KMS_SECRET_KEY=$kms \
    docker run --detach --rm --publish 127.0.0.1::9000 --env MINIO_ROOT_USER \
    --env MINIO_ROOT_PASSWORD --env MINIO_KMS_SECRET_KEY "$image" server /data) || return 1
  printf '%s\n' "$container" >"$dir/container"
  port=$(docker port "$container" 9000/tcp | sed -n 's/^127\.0\.0\.1://p')
  deadline=$((SECONDS + 60))
  while [ "$SECONDS" -lt "$deadline" ]; do
    if responds 127.0.0.1 "${port:-0}" /minio/health/cluster; then
      s3_env MINIO "http://127.0.0.1:$port" "$access" "$secret" >"$dir/env"
      return
    fi
    sleep 0.2
  done
  warn "MinIO in Docker does not respond on 127.0.0.1; trying without Docker"
  docker rm --force "$container" >/dev/null || true
  rm -f "$dir/container"
  return 1
}

# Uses the MinIO that the environment names, if it responds. MINIO_ENDPOINT is a URL, or a host with
# MINIO_PORT and MINIO_USE_SSL.
minio_from_environment() {
  local endpoint=${MINIO_ENDPOINT%/} scheme=http host
  case ${MINIO_USE_SSL:-} in 1 | true | yes | on) scheme=https ;; esac
  case $endpoint in *://*) ;; *) endpoint=$scheme://$endpoint ;; esac
  host=${endpoint#*://}
  case $host in *:*) ;; *) [ -z "${MINIO_PORT:-}" ] || endpoint=$endpoint:$MINIO_PORT ;; esac
  host=${endpoint#http://}
  if [ -z "${MINIO_ACCESS_KEY:-}" ] || [ -z "${MINIO_SECRET_KEY:-}" ]; then
    warn "MINIO_ENDPOINT is set without credentials; set MINIO_ACCESS_KEY and MINIO_SECRET_KEY too"
    return 1
  fi
  if [[ $endpoint == http://*:* ]] && ! responds "${host%:*}" "${host##*:}" /minio/health/live; then
    warn "no MinIO responds at $endpoint; check or unset MINIO_ENDPOINT"
    return 1
  fi
  s3_env MINIO "$endpoint" "$MINIO_ACCESS_KEY" "$MINIO_SECRET_KEY"
}

# With a KMS key, because without one MinIO rejects server-side encryption (SSE-S3) over plain HTTP.
launch_minio() {
  local dir=$1 access secret kms binary data port
  if [ -n "${MINIO_ENDPOINT:-}" ]; then
    minio_from_environment >"$dir/env"
    return
  fi
  access=$(random_hex 10) secret=$(random_hex 20) kms=idk-test:$(random_base64 32)
  minio_in_docker "$dir" && return
  binary=$(find_server minio "$MINIO_MODULE") || return
  data=$(new_data_dir "$dir")
  launch "$dir" /minio/health/cluster minio_command || return
  s3_env MINIO "http://127.0.0.1:$port" "$access" "$secret" >"$dir/env"
}

versitygw_command() {
  ROOT_ACCESS_KEY=$access ROOT_SECRET_KEY=$secret exec "$binary" --quiet --health /health \
    --port "127.0.0.1:$1" posix --versioning-dir "$data/versions" ${sidecar:+--sidecar "$sidecar"} "$data/objects"
}

launch_versitygw() {
  local dir=$1 access secret binary data port sidecar=""
  binary=$(find_server versitygw "$VERSITYGW_MODULE") || return
  access=$(random_hex 10) secret=$(random_hex 20)
  data=$(new_data_dir "$dir")
  mkdir "$data/objects" "$data/versions" "$data/sidecar"
  # It stores object metadata in extended attributes. If the temporary folder's file system has none, it
  # does not start; then store the metadata in files next to the objects.
  if ! launch "$dir" /health versitygw_command 2>/dev/null; then
    sidecar=$data/sidecar
    launch "$dir" /health versitygw_command || return
  fi
  s3_env VERSITYGW "http://127.0.0.1:$port" "$access" "$secret" >"$dir/env"
}

toxiproxy_command() {
  LOG_LEVEL=error exec "$binary" -host 127.0.0.1 -port "$1"
}

launch_toxiproxy() {
  local dir=$1 binary port
  binary=$(find_server toxiproxy-server "$TOXIPROXY_MODULE") || return
  launch "$dir" /version toxiproxy_command || return
  printf 'export IDK_TEST_TOXIPROXY=http://127.0.0.1:%s\n' "$port" >"$dir/env"
}

# The folder of PostgreSQL's programs: the newest of Debian's, which are not on the PATH, or the one that
# `initdb` on the PATH comes from.
find_postgres() {
  local folder
  for folder in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) \
    "$(dirname "$(readlink -f "$(command -v initdb || echo none)")")"; do
    if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ] && [ -x "$folder/pg_isready" ]; then
      printf %s "$folder"
      return
    fi
  done
  return 1
}

# PostgreSQL refuses to run as root, so root runs it as the user that its package made.
# Replaces the shell, so call it in a subshell.
as_postgres() {
  cd "$data"
  [ "$(id -u)" != 0 ] || set -- setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
  exec "$@"
}

# No test stops the machine, and waiting for the disk would be most of their time.
postgres_command() {
  as_postgres "$binaries/postgres" -D "$data/cluster" -p "$1" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c log_min_messages=fatal -c fsync=off
}

postgres_responds() {
  "$binaries/pg_isready" --quiet --host "$1" --port "$2"
}

launch_postgres() {
  local dir=$1 binaries data secret port probe=postgres_responds
  if ! binaries=$(find_postgres); then
    # In a subshell, because `fail` exits.
    (install_debian postgresql) || return
    binaries=$(find_postgres) || return
  fi
  data=$(new_data_dir "$dir")
  secret=$(random_hex 20)
  # It ends sessions at INT; at TERM it would wait for them.
  echo INT >"$dir/signal"
  printf '%s\n' "$secret" >"$data/secret"
  [ "$(id -u)" != 0 ] || chown -R postgres: "$data"
  (as_postgres "$binaries/initdb" --pgdata="$data/cluster" --username=idk --encoding=UTF8 --no-locale --no-sync \
    --auth=scram-sha-256 --pwfile="$data/secret") >"$dir/log" 2>&1 || {
    warn "initdb failed: $(tail -n 5 "$dir/log")"
    return 1
  }
  launch "$dir" - postgres_command || return
  printf 'export IDK_TEST_POSTGRES=postgres://idk:%s@127.0.0.1:%s/postgres\n' "$secret" "$port" >"$dir/env"
}

# Whether a recorded PID is still a server and has not been reused by another process.
is_server() {
  case $(tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" || ps -p "$1" -o args= 2>/dev/null) in
    *minio* | *versitygw* | *toxiproxy* | *postgres*) return 0 ;;
    *) return 1 ;;
  esac
}

is_running() {
  if [ -s "$1/container" ]; then
    [ -n "$(docker ps --quiet --no-trunc --filter "id=$(cat "$1/container")" 2>/dev/null)" ]
  else
    [ -s "$1/pid" ] && is_server "$(cat "$1/pid")"
  fi
}

# Usage: stop_server DIR
stop_server() {
  local dir=$1 pid data waited=0
  [ -d "$dir" ] || return 0
  if [ -s "$dir/container" ]; then
    docker rm --force "$(cat "$dir/container")" >/dev/null 2>&1 || true
  fi
  if [ -s "$dir/pid" ]; then
    pid=$(cat "$dir/pid")
    if is_server "$pid"; then
      kill -s "$(cat "$dir/signal" 2>/dev/null || echo TERM)" "$pid" 2>/dev/null || true
      while is_alive "$pid" && [ "$waited" -lt 50 ]; do
        sleep 0.1
        waited=$((waited + 1))
      done
      kill -9 "$pid" 2>/dev/null || ! is_alive "$pid" || warn "process $pid could not be killed"
    fi
  fi
  data=$(cat "$dir/data" 2>/dev/null || true)
  case $data in
    */idk-server.*) rm -rf "$data" ;;
  esac
  rm -rf "$dir"
}

# Cleans up after killed runs: stops servers and removes build folders whose owner has exited.
sweep_servers() {
  local dir owner
  for dir in "$servers"/*/; do
    [ -s "$dir/owner" ] || continue
    owner=$(cat "$dir/owner")
    is_alive "$owner" || stop_server "${dir%/}"
  done
  for dir in "$go_bin"/build.*.*/; do
    [ -d "$dir" ] || continue
    owner=${dir#"$go_bin"/build.}
    is_alive "${owner%%.*}" || rm -rf "$dir"
  done
}

# Usage: start_server NAME DIR [OWNER]. Writes DIR/env; on failure, removes DIR.
start_server() {
  local name=$1 dir=$2
  sweep_servers
  mkdir -p "$dir"
  [ $# -lt 3 ] || printf '%s\n' "$3" >"$dir/owner"
  if ! "launch_$name" "$dir"; then
    stop_server "$dir"
    return 1
  fi
}

# Implements script/minio and the like: start, stop, or run a command with the server.
serve() {
  local name=$1 action=${2:-} dir=$servers/$1
  help_if_asked "$action"
  case $action in
    start)
      if ! is_running "$dir"; then
        stop_server "$dir"
        start_server "$name" "$dir" || exit
      fi
      cat "$dir/env"
      ;;
    stop) stop_server "$dir" ;;
    run)
      shift 2
      [ $# -gt 0 ] || fail "Usage: script/$name run COMMAND…"
      dir=$dir-$$
      # Expanded now, because the local variables are gone when the trap runs.
      trap "stop_server $(printf %q "$dir")" EXIT
      start_server "$name" "$dir" $$ || exit
      . "$dir/env"
      "$@"
      ;;
    *)
      fail "Usage: script/$name start | stop | run COMMAND…
start prints assignments for the shell: eval \"\$(script/$name start)\""
      ;;
  esac
}

started=()
trap 'for dir in ${started[@]+"${started[@]}"}; do stop_server "$dir"; done' EXIT

# Starts the servers that the environment does not name. They are stopped when this script exits.
# Usage: start_servers [NAME…], by default the S3 servers and the proxy
start_servers() {
  local name variable dir missing=0
  [ $# -gt 0 ] || set -- minio versitygw toxiproxy
  for name in "$@"; do
    variable=IDK_TEST_$(tr '[:lower:]' '[:upper:]' <<<"$name")
    [ -z "${!variable:-}" ] || continue
    dir=$servers/$name-$$
    started+=("$dir")
    if start_server "$name" "$dir" $$; then
      # Nothing else of it: a command under test must not find a server in its environment.
      eval "$(grep '^export IDK_TEST_' "$dir/env")"
    elif [ -n "${CI:-}" ]; then
      missing=1
    else
      warn "no $name: tests that need it are skipped"
    fi
  done
  # Tests that kill a server need an executable, even if the shared server runs elsewhere.
  [[ -z ${CI:-} || " $* " != *" minio "* ]] || find_server minio "$MINIO_MODULE" >/dev/null || missing=1
  return $missing
}

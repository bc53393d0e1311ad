# Provides programs that tests and benchmarks run beside idk, at pinned versions below .cache, whatever is
# on the PATH. Sourced after tools.sh and servers.sh.

RCLONE_MODULE=github.com/rclone/rclone@v1.75.1
RESTIC_MODULE=github.com/restic/restic/cmd/restic@v0.18.1
S5CMD_MODULE=github.com/peak/s5cmd/v2@v2.3.0
AWSCLI=awscli==1.46.3
S3CMD=s3cmd==2.4.0

# Builds a program into .cache/go/bin, from a temporary module that requires it. `go install` would also
# request the list of all versions, to warn of retracted ones, which not every proxy has.
# Usage: build_program NAME MODULE [MAIN]
# MAIN is the source of the program, if it is not the module's own.
build_program() {
  local name=$1 version=${2#*@} package=${2%@*} main=${3:-} module go work built
  built="$2${main:+ $(cksum <"$main")}"
  [ -x "$go_bin/$name" ] && [ "$(cat "$go_bin/$name.module" 2>/dev/null)" = "$built" ] && return
  go=$(find_go) || fail "cannot build $name: Go 1.21 or newer is not installed"
  module=${package%/cmd/*}
  say "Building $name $version from its Go module (once, some minutes)"
  mkdir -p "$go_bin"
  work=$(mktemp -d "$go_bin/build.XXXXXX")
  printf 'module program\n\ngo 1.21\n\nrequire %s %s\n' "$module" "$version" >"$work/go.mod"
  if [ -n "$main" ]; then
    cp "$main" "$work/main.go"
    package=.
  fi
  if ! (cd "$work" && GOTOOLCHAIN=auto GOFLAGS=-trimpath "$go" build -mod=mod -o built "$package") >&2; then
    rm -rf "$work"
    fail "cannot build $name; see the messages of Go above"
  fi
  mv "$work/built" "$go_bin/$name"
  printf '%s\n' "$built" >"$go_bin/$name.module"
  rm -rf "$work"
}

build_rclone() {
  build_program rclone "$RCLONE_MODULE" script/lib/rclone.go
}

# Installs a program from PyPI as .cache/NAME/bin/NAME. In its own environment, because its pinned
# dependencies conflict with those of the reference reader.
install_python_program() {
  local name=$1 requirement=$2 venv=$cache/$1
  # Also run it: its scripts contain the path of the environment, which may have moved.
  [ "$(cat "$venv/installed.txt" 2>/dev/null)" = "$requirement" ] &&
    "$venv/bin/$name" --version >/dev/null 2>&1 && return
  command -v python3 >/dev/null || install_debian python3 python3-venv
  say "Installing $requirement"
  rm -rf "$venv"
  if ! python3 -m venv "$venv" >&2; then
    install_debian python3-venv
    python3 -m venv "$venv" >&2
  fi
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$requirement" >&2 ||
    fail "cannot install $requirement"
  printf '%s\n' "$requirement" >"$venv/installed.txt"
}

# Provides the S3 clients that tests run against a gateway, and exports their paths. Without one of them, its
# tests are skipped; in CI that is a failure.
ensure_s3_clients() {
  local missing=0
  # In subshells, because `fail` exits.
  (install_python_program aws "$AWSCLI") && export IDK_CLIENT_AWS=$cache/aws/bin/aws || missing=1
  (install_python_program s3cmd "$S3CMD") && export IDK_CLIENT_S3CMD=$cache/s3cmd/bin/s3cmd || missing=1
  (build_rclone) && export IDK_CLIENT_RCLONE=$go_bin/rclone || missing=1
  (build_program s5cmd "$S5CMD_MODULE") && export IDK_CLIENT_S5CMD=$go_bin/s5cmd || missing=1
  (build_program restic "$RESTIC_MODULE") && export IDK_CLIENT_RESTIC=$go_bin/restic || missing=1
  [ "$missing" -eq 0 ] || [ -z "${CI:-}" ]
}

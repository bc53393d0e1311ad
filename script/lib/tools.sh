# Provides the tools that the scripts need, at the versions this project pins. Missing ones are
# installed below .cache/ (system packages excepted). Source it from the root of the project.

cache=$PWD/.cache

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

# If the first argument is -h or --help, prints the comment at the top of the running script and exits.
# Call it from the root of the project.
help_if_asked() {
  case ${1:-} in
    -h | --help)
      sed -n -e 1d -e '/^#/!q' -e 's/^# \{0,1\}//p' "script/${0##*/}"
      exit
      ;;
  esac
}

say() {
  printf '\n\033[1m%s\033[0m\n' "$*" >&2
}

# Provides the pinned Bun: from the PATH if that has the right version, otherwise installed with npm or
# another Bun. Each platform's executable has its own package, so no install script has to run.
ensure_bun() {
  local want have dir candidate
  want=$(sed -n 's/.*"packageManager": "bun@\([0-9.]*\)".*/\1/p' package.json)
  have=$(command -v bun >/dev/null && bun --version 2>/dev/null || true)
  [ "$have" = "$want" ] && return
  dir=$cache/bun-$want
  if [ ! -x "$dir/bin/bun" ]; then
    mkdir -p "$dir"
    printf '{"private":true}\n' >"$dir/package.json"
    if command -v npm >/dev/null; then
      say "Installing Bun $want with npm"
      npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --loglevel=error "bun@$want" >&2
    elif [ -n "$have" ]; then
      say "Installing Bun $want with Bun $have"
      (cd "$dir" && bun add --ignore-scripts "bun@$want" >&2)
    else
      fail "neither Bun nor npm is installed; install Node.js with npm (or Bun) and try again"
    fi
    mkdir -p "$dir/bin"
    # There may be packages for both C libraries and for older processors; use the one that runs.
    for candidate in "$dir"/node_modules/@oven/bun-*/bin/bun; do
      if [ "$("$candidate" --version 2>/dev/null || true)" = "$want" ]; then
        ln -sf "$candidate" "$dir/bin/bun"
        break
      fi
    done
    [ -x "$dir/bin/bun" ] || fail "no build of Bun $want runs on this machine ($(uname -sm))"
  fi
  PATH=$dir/bin:$PATH
  export PATH
}

# Installs the workspace's dependencies, exactly as locked.
ensure_packages() {
  bun install --frozen-lockfile >&2
}

# Makes a virtual environment for the reference reader in Python and for the S3 client of tests/live, and
# exports its interpreter as IDK_REFERENCE_PYTHON.
ensure_python() {
  local requirements=(testdata/reference/requirements.txt tests/live/python/requirements.txt)
  local venv=$cache/python
  IDK_REFERENCE_PYTHON=$venv/bin/python
  export IDK_REFERENCE_PYTHON
  cat "${requirements[@]}" | cmp -s - "$venv/installed.txt" && return
  command -v python3 >/dev/null || install_debian python3 python3-venv
  say "Making a Python environment for the reference reader"
  rm -rf "$venv"
  if ! python3 -m venv "$venv" >&2; then
    # Debian packages the venv module separately.
    install_debian python3-venv
    python3 -m venv "$venv" >&2
  fi
  # The lanes go on after a failure: without the mark, the next run tries again.
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    "${requirements[@]/#/--requirement=}" >&2 || return
  cat "${requirements[@]}" >"$venv/installed.txt"
}

CHROMIUM_PACKAGE=@sparticuz/chromium@153.0.0

# Exports CHROMIUM, a headless Chromium for tests that open pages: the one that CHROMIUM names, one on
# the PATH, or the build in an npm package, which is for Linux on x64. Without one, those tests are
# skipped; in CI that is a failure.
ensure_chromium() {
  local name found dir=$cache/chromium-${CHROMIUM_PACKAGE##*@}
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
    [ -n "$name" ] && found=$(command -v "$name") || continue
    # Some distributions have a stub of that name that only prints how to install it.
    "$found" --version >/dev/null 2>&1 || continue
    export CHROMIUM=$found
    return
  done
  unset CHROMIUM
  if [ ! -x "$dir/chromium" ] && ! install_chromium "$dir"; then
    [ -z "${CI:-}" ] || return 1
    printf 'no Chromium: tests that need it are skipped\n' >&2
    return
  fi
  export CHROMIUM=$dir/chromium
}

# The package contains the browser, libraries beyond libc, and a font, each compressed. Its own code would
# unpack them into the system's temporary folder.
install_chromium() {
  local dir=$1 name out
  if [ "$(uname -sm)" != "Linux x86_64" ]; then
    printf 'chromium: not on the PATH, and there is no package for %s\n' "$(uname -sm)" >&2
    return 1
  fi
  say "Installing Chromium from $CHROMIUM_PACKAGE"
  mkdir -p "$cache"
  out=$(mktemp -d "$cache/chromium.XXXXXX")
  printf '{"private":true}\n' >"$out/package.json"
  (
    cd "$out" && bun add --ignore-scripts "$CHROMIUM_PACKAGE" >&2 || exit
    for name in chromium al2023.tar fonts.tar; do
      bun -e 'import { brotliDecompressSync } from "node:zlib";
        const packed = await Bun.file(process.argv[1]).bytes();
        await Bun.write(process.argv[2], brotliDecompressSync(packed));' \
        "$PWD/node_modules/@sparticuz/chromium/bin/$name.br" "$PWD/$name" || exit
    done
    tar -xf al2023.tar && tar -xf fonts.tar || exit
    mv chromium headless_shell && chmod +x headless_shell && rm -rf node_modules ./*.tar bun.lock
    cat >fonts.conf <<'END'
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir></fontconfig>
END
    cat >chromium <<'END'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
# For systems without fonts.
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/headless_shell" "$@"
END
    chmod +x chromium && ./chromium --version >&2
  ) || {
    rm -rf "$out"
    printf 'chromium: the installation failed\n' >&2
    return 1
  }
  # Concurrent installations are safe: the second finds the first in place.
  mv -T "$out" "$dir" 2>/dev/null || rm -rf "$out"
  [ -x "$dir/chromium" ]
}

# Installs programs that tests run. If that fails, tests that need them are skipped; in CI it is a
# failure.
# Usage: ensure_programs NAME…
ensure_programs() {
  local name missing=()
  for name in "$@"; do
    command -v "$name" >/dev/null || missing+=("${name/#ssh-keygen/openssh-client}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  # In a subshell, because `fail` exits.
  (install_debian "${missing[@]}") && return
  [ -z "${CI:-}" ] || return 1
  printf 'no %s: tests that need them are skipped\n' "${missing[*]}" >&2
}

# Installs system packages on Debian or Ubuntu, as root or with sudo; otherwise names what is missing.
install_debian() {
  local as_root=()
  command -v apt-get >/dev/null || fail "please install: $*"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "please install: $*"
    as_root=(sudo -n)
  fi
  say "Installing $*"
  "${as_root[@]}" apt-get update -qq >&2 || true
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq "$@" >&2 || fail "please install: $*"
}

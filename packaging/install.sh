#!/bin/sh
# Installs the command idk for the user who runs it, on Linux and macOS, without root:
#
#   the command     ~/.local/bin/idk
#   manual page     ~/.local/share/man/man1
#   completions     ~/.local/share: bash-completion, zsh/site-functions, fish
#   licences        ~/.local/share/idk, with a list of the installed files
#
# It downloads a release over HTTPS, and unpacks it only after it has checked the signature of
# SHA256SUMS (with ssh-keygen of OpenSSH and the key in this script) and the checksum of the archive.
#
# Usage: sh install.sh [--to DIR] [--version VERSION] [--checksum-only]
#        sh install.sh --uninstall [--to DIR]
set -eu

# script/release-files fills these in; this file alone, in the repository, installs nothing.
readonly RELEASES='@RELEASES@'
readonly VERSION='@VERSION@'
release_keys() {
  cat <<'END'
@RELEASE_KEYS@
END
}

usage() {
  cat <<END
Installs the command idk $VERSION into ~/.local/bin. Usage:

  sh install.sh [--to DIR] [--version VERSION] [--checksum-only]
  sh install.sh --uninstall [--to DIR]

  --to DIR            install into DIR; the default is \$IDK_INSTALL_DIR, or ~/.local/bin
  --version VERSION   install this version
  --checksum-only     do without ssh-keygen: check the download, but not who made the release
  --uninstall         remove what this script installed; keys and settings stay
END
}

die() {
  printf 'install idk: %s\n' "$*" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# The last line of the log, for a message; curl adds advice after its own. It may come from a server.
last_words() {
  { grep '^curl: ' "$work/log" || cat "$work/log"; } | tail -n 1 | tr -cd '[:print:]' | cut -c 1-300
}

sha256() {
  if has sha256sum; then
    set -- "$(sha256sum <"$1")"
  elif has shasum; then
    set -- "$(shasum -a 256 <"$1")"
  else
    set -- "$(openssl dgst -sha256 -r <"$1")"
  fi
  printf '%s\n' "${1%% *}"
}

# Sets $platform, such as linux-x64-musl.
detect_platform() {
  system=$(uname -s)
  machine=$(uname -m)
  more="npm install --global @idk/cli may work; all downloads: $RELEASES"
  case $system in
    Linux) os=linux ;;
    Darwin) os=macos ;;
    MINGW* | MSYS* | CYGWIN* | Windows_NT)
      die "this script is not for Windows; download idk-$version-windows-x64.zip from $RELEASES/tag/v$version, or run npm install --global @idk/cli"
      ;;
    *) die "there is no build for $system; $more" ;;
  esac
  # A process that macOS translates sees an Intel processor.
  if [ "$os" = macos ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
    machine=arm64
  fi
  case $machine in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) die "there is no build for $system on $machine; $more" ;;
  esac
  platform=$os-$arch
  if [ "$os" = linux ]; then
    # A 64-bit kernel may run a 32-bit system.
    [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 64 ] ||
      die "there is no build for 32-bit systems; $more"
    # Systems with glibc may have musl installed beside it, so ask for glibc first.
    if ! getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
      case $(ldd --version 2>&1 || true) in
        *musl*) platform=$platform-musl ;;
        *GLIBC* | *"GNU libc"*) ;;
        *) die "this system has neither glibc nor musl as its C library; $more" ;;
      esac
    fi
  fi
}

# Sets $downloader and $verify. Nothing has been created yet.
check_tools() {
  for tool in tar gzip mktemp; do
    has "$tool" || die "$tool is not installed; install it and try again"
  done
  has sha256sum || has shasum || has openssl ||
    die "sha256sum is not installed (nor shasum or openssl); install coreutils and try again"
  if has curl; then
    downloader=curl
  # Not BusyBox, whose wget follows redirects to anywhere.
  elif case $(wget --version 2>/dev/null || true) in "GNU Wget 1."*) ;; *) false ;; esac then
    downloader=wget
  else
    die "neither curl nor GNU Wget is installed; install curl and try again"
  fi
  verify=yes
  if [ "$checksum_only" = yes ]; then
    verify=no
  else
    # Before OpenSSH 8.1, it does not know -Y.
    case $(ssh-keygen -Y verify 2>&1 </dev/null || true) in
      *namespace*) ;;
      *) die "the signature cannot be checked: ssh-keygen of OpenSSH 8.1 or later is not installed
Install it (Debian, Ubuntu: openssh-client; Fedora: openssh; Alpine: openssh-keygen) and try again.
Or pass --checksum-only, which detects a damaged download but not a forged release." ;;
    esac
  fi
}

# Downloads $1 into the file $2 over HTTPS; redirects have to stay there.
download() {
  answer=
  code=0
  if [ "$downloader" = curl ]; then
    answer=$(curl --proto '=https' --tlsv1.2 --silent --show-error --location --max-redirs 5 \
      --connect-timeout 20 --speed-limit 1024 --speed-time 30 --retry 2 \
      --output "$2" --write-out '%{http_code}' "$1" 2>"$work/log") || code=$?
  else
    # Wget itself would follow a redirect to http.
    url=$1
    for _ in 1 2 3 4 5 6; do
      code=0
      wget --no-verbose --server-response --max-redirect=0 --timeout=30 --tries=2 \
        --output-document="$2" "$url" 2>"$work/log" || code=$?
      answer=$(sed -n 's/^ *HTTP\/[0-9.]* \([0-9][0-9][0-9]\).*/\1/p' "$work/log" | tail -n 1)
      case $answer in
        3*) url=$(sed -n 's/^ *[Ll]ocation: *\([^ ]*\).*/\1/p' "$work/log" | head -n 1 | tr -d '\r') ;;
        *) break ;;
      esac
      case $url in
        https://*) ;;
        *) die "cannot download $1: the server redirects away from https" ;;
      esac
    done
    # Wget fails when the server answers with an error, which the status says better.
    [ "$code" != 8 ] || code=0
  fi
  if [ "$code" != 0 ]; then
    next="check the network"
    # Not the value: it may contain a password.
    [ -z "${https_proxy:-}${HTTPS_PROXY:-}${ALL_PROXY:-}${all_proxy:-}" ] ||
      next="check the network and the proxy in https_proxy or all_proxy"
    # curl: cannot write; Wget: any error of a file.
    case $downloader-$code in
      curl-23 | wget-3) next="check the free space in $dir" ;;
    esac
    die "cannot download $1: $(last_words); $next"
  fi
  case $answer in
    200) ;;
    404) die "there is no $1; is $version a release, and for $platform? see $RELEASES" ;;
    *) die "cannot download $1: the server answered ${answer:-nothing}; try again later" ;;
  esac
}

# Checks that someone with a release key signed SHA256SUMS.
verify_signature() {
  release_keys >"$work/allowed_signers"
  ssh-keygen -Y verify -f "$work/allowed_signers" -I release@idk -n idk-release \
    -s "$work/SHA256SUMS.sig" <"$work/SHA256SUMS" >"$work/log" 2>&1 ||
    die "the signature of SHA256SUMS is not from a release key; nothing was installed
The release may be forged. Please report it, as SECURITY.md of the project describes. ($(last_words))"
}

verify_checksum() {
  want=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$work/SHA256SUMS")
  [ -n "$want" ] || die "SHA256SUMS of this release has no $archive; nothing was installed"
  have=$(sha256 "$work/$archive")
  [ "$have" = "$want" ] || die "the checksum of $archive is wrong; nothing was installed
expected $want
received $have
Try again. If it stays so, please report it, as SECURITY.md of the project describes."
}

# Calls $1 with the name in the archive, the installed path and the mode of each file. The command is
# the last one.
each_file() {
  "$1" LICENSE "$share/idk/LICENSE" 644
  "$1" LICENSES.txt "$share/idk/LICENSES.txt" 644
  "$1" idk.1 "$share/man/man1/idk.1" 644
  "$1" completions/idk.bash "$share/bash-completion/completions/idk" 644
  "$1" completions/_idk "$share/zsh/site-functions/_idk" 644
  "$1" completions/idk.fish "$share/fish/vendor_completions.d/idk.fish" 644
  "$1" idk "$dir/idk" 755
}

# Is this file as this script installed it?
is_ours() {
  [ -f "$1" ] && [ ! -L "$1" ] && [ -f "$receipt" ] &&
    grep -qxF -e "$(sha256 "$1")  $1" "$receipt"
}

refuse_foreign() {
  if [ -e "$2" ] || [ -L "$2" ]; then
    is_ours "$2" || die "$2 exists and is not as this script installed it; move it away, or pass --to DIR"
  fi
}

# Makes a folder and those above it, and notes them for clean_up.
make_folder() {
  [ ! -d "$1" ] || return 0
  make_folder "$(dirname "$1")"
  mkdir "$1" 2>/dev/null || [ -d "$1" ] || die "cannot create the folder $1; pass another one with --to DIR"
  created="$1
$created"
}

# Puts a copy beside where the file belongs, so that what follows is only renaming.
stage() {
  make_folder "$(dirname "$2")"
  copy=$(mktemp "$2.XXXXXX" 2>/dev/null) || die "cannot write $2; check the permissions and the free space"
  staged="$copy
$staged"
  { cat "$unpacked/$1" >"$copy" && chmod "$3" "$copy"; } 2>"$work/log" ||
    die "cannot write $2: $(last_words); check the free space"
  printf '%s  %s\n' "$(sha256 "$copy")" "$2" >>"$work/receipt"
  printf '%s\n%s\n' "$copy" "$2" >>"$work/renames"
}

write_receipt() {
  copy=$(mktemp "$receipt.XXXXXX" 2>/dev/null) || die "cannot write $receipt; check the free space"
  staged="$copy
$staged"
  { cat "$1" >"$copy" && chmod 644 "$copy" && mv -f "$copy" "$receipt"; } 2>"$work/log" ||
    die "cannot write $receipt: $(last_words); check the free space"
}

# Leaves nothing behind of an installation that failed or was interrupted.
clean_up() {
  result=$?
  trap '' HUP INT TERM
  printf '%s\n' "$staged" | while IFS= read -r file; do
    [ -z "$file" ] || rm -f "$file"
  done
  [ -z "$work" ] || rm -rf "$work"
  if [ "$result" != 0 ]; then
    printf '%s\n' "$created" | while IFS= read -r file; do
      [ -z "$file" ] || rmdir "$file" 2>/dev/null || true
    done
  fi
  exit "$result"
}

install_idk() {
  detect_platform
  check_tools
  each_file refuse_foreign
  archive=idk-$version-$platform.tar.gz
  work=
  created=
  staged=
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  make_folder "$dir"
  # Here, not in /tmp: it is on the same disk, and programs may be run from it.
  work=$(mktemp -d "$dir/.idk-install.XXXXXX" 2>/dev/null) ||
    die "cannot write to the folder $dir; check its permissions and the free space, or pass another one with --to DIR"

  printf 'downloading idk %s for %s from %s\n' "$version" "$platform" "$RELEASES" >&2
  base=$RELEASES/download/v$version
  download "$base/SHA256SUMS" "$work/SHA256SUMS"
  if [ "$verify" = yes ]; then
    download "$base/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
    verify_signature
  else
    printf 'the signature is not checked: --checksum-only\n' >&2
  fi
  download "$base/$archive" "$work/$archive"
  verify_checksum

  tar -xzf "$work/$archive" -C "$work" 2>"$work/log" ||
    die "cannot unpack $archive: $(last_words); check the free space in $dir"
  rm "$work/$archive"
  unpacked=$work/idk-$version-$platform
  each_file stage
  # The copy, because the folder where it is going to be may forbid programs.
  next="Build it from its sources, or run npm install --global @idk/cli."
  case $platform in
    *-musl) next="On Alpine, run apk add libstdc++ and try again. $next" ;;
  esac
  runs=$("$copy" --version 2>"$work/log" </dev/null) ||
    die "idk does not run on this machine: $(last_words)
$next"
  case "$runs " in
    "idk $version "*) ;;
    *) die "the archive of idk $version contains another version" ;;
  esac

  # An interrupted replacement must not make files look foreign, so the list has old and new ones first.
  if [ -f "$receipt" ]; then cat "$receipt" "$work/receipt"; else cat "$work/receipt"; fi >"$work/both" ||
    die "cannot write to $work; check the free space"
  trap '' HUP INT TERM
  write_receipt "$work/both"
  while IFS= read -r copy && IFS= read -r file; do
    mv -f "$copy" "$file" || die "cannot replace $file; run this script again"
  done <"$work/renames"
  write_receipt "$work/receipt"
  printf 'installed idk %s: %s\n' "$version" "$dir/idk"
  tell_path
}

tell_path() {
  case :${PATH:-}: in
    *":$dir:"*)
      first=$(command -v idk || true)
      [ "$first" = "$dir/idk" ] || printf 'note: your shell finds another idk first: %s\n' "$first" >&2
      ;;
    *)
      printf 'note: %s is not on your PATH; add this line to the file your shell reads when it starts (~/.profile, ~/.zshrc):\n' "$dir" >&2
      # shellcheck disable=SC2016 # for the user's shell
      printf '  export PATH="%s:$PATH"\n' "$dir" >&2
      ;;
  esac
}

remove_ours() {
  if is_ours "$2"; then
    rm -f "$2" || die "cannot remove $2; check the permissions of its folder"
  elif [ -e "$2" ] || [ -L "$2" ]; then
    printf 'kept %s: it is not as this script installed it\n' "$2" >&2
  fi
}

remove_empty() {
  # The folder of commands stays.
  [ "$2" != "$dir/idk" ] || return 0
  rmdir "$(dirname "$2")" 2>/dev/null || return 0
  case $2 in
    "$share"/*/*/*) rmdir "$(dirname "$(dirname "$2")")" 2>/dev/null || true ;;
  esac
}

uninstall() {
  [ -f "$receipt" ] || die "this script has not installed idk into $dir; if it is elsewhere, pass --to DIR"
  each_file remove_ours
  rm -f "$receipt"
  each_file remove_empty
  printf 'removed idk from %s; keys, settings and stores are where they were\n' "$dir"
}

main() {
  # Messages of other programs are in English, and their bytes are bytes.
  LC_ALL=C
  export LC_ALL
  umask 022
  case $RELEASES in
    https://*) ;;
    *) die "this is a template; take install.sh from a release" ;;
  esac
  action=install_idk
  version=$VERSION
  checksum_only=no
  dir=${IDK_INSTALL_DIR:-}
  while [ $# -gt 0 ]; do
    case $1 in
      --to | --version)
        [ -n "${2:-}" ] || die "$1 needs a value"
        if [ "$1" = --to ]; then dir=$2; else version=${2#v}; fi
        shift
        ;;
      --checksum-only) checksum_only=yes ;;
      --uninstall) action=uninstall ;;
      -h | --help)
        usage
        return
        ;;
      *) die "unknown argument $1; see --help" ;;
    esac
    shift
  done
  case $version in
    [0-9]*.[0-9]*.[0-9]*) ;;
    *) die "$version is not a version such as $VERSION" ;;
  esac
  case $version in
    *[!0-9A-Za-z.+-]*) die "$version is not a version such as $VERSION" ;;
  esac
  if [ -z "$dir" ]; then
    [ -n "${HOME:-}" ] || die "HOME is not set; pass --to DIR"
    dir=$HOME/.local/bin
  fi
  case $dir in
    /*) ;;
    *) dir=$PWD/$dir ;;
  esac
  while [ "$dir" != "${dir%/}" ]; do dir=${dir%/}; done
  case $dir in
    *'
'* | '') die "the folder has to be a path in one line, and not the root" ;;
  esac
  # Manual page and completions go beside a folder named bin, as shells and man expect.
  case $dir in
    */bin) share=${dir%/bin}/share ;;
    *) share=$dir/share ;;
  esac
  receipt=$share/idk/installed-files
  "$action"
}

# In braces and at the end: of a download that broke off, nothing runs.
{ main "$@"; }

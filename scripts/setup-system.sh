#!/bin/sh
# Makes sure that the system programs agent-fix uses are installed; silent and quick when they are.
# As root with apt it installs what is missing, else it says what to install and fails.
# With the word "browser" it also takes the browser in which the tests open the demo's pages, and with "full" what else only
# the full tier of the tests needs: podman, a small image made here, and other languages.
set -eu

# program:package, as Debian and Ubuntu name them
NEEDED="bwrap:bubblewrap git:git rg:ripgrep socat:socat setpriv:util-linux prlimit:util-linux"
# what the tests open pages in
BROWSER="chromium:chromium"
# what only the full tier of the tests needs
FULL="podman:podman runc:runc debootstrap:debootstrap"
# the test runners of other ecosystems, whose reports are read from real runs
FULL="$FULL make:make gcc:gcc cmake:cmake meson:meson cargo:cargo go:golang-go javac:default-jdk-headless prove:perl"
# package managers that set-up is tried with
FULL="$FULL poetry:python3-poetry bundle:bundler composer:composer gradle:gradle mvn:maven"
FULL="$FULL bats:bats rspec:ruby-rspec rake:rake phpunit:phpunit mix:elixir"
set_wanted=${1:-needed}
case $set_wanted in
  needed) ;;
  browser) NEEDED="$NEEDED $BROWSER" ;;
  full) NEEDED="$NEEDED $BROWSER $FULL" ;;
  *)
    echo "agent-fix: there is no set of packages called $set_wanted; there are: needed, browser, full" >&2
    exit 2
    ;;
esac

# The image that the container sandbox is tested in; kept in podman's own store, never in the repository.
image() {
  [ "$set_wanted" = full ] && [ "$(id -u)" = 0 ] || return 0
  "$(dirname "$0")/make-test-image.sh"
}

missing=""
for pair in $NEEDED; do
  program=${pair%%:*}
  package=${pair#*:}
  command -v "$program" >/dev/null 2>&1 && continue
  case " $missing " in
    *" $package "*) ;;
    *) missing="${missing:+$missing }$package" ;;
  esac
done
if [ -z "$missing" ]; then
  image
  exit 0
fi

explain() {
  echo "agent-fix: $1" >&2
  echo "  missing system packages: $missing" >&2
  echo "  Debian, Ubuntu: sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
  echo "  Fedora: sudo dnf install $missing   Arch: sudo pacman -S $missing" >&2
  exit 1
}

command -v apt-get >/dev/null 2>&1 || explain "this system has no apt-get; install the packages with its own tool"
[ "$(id -u)" = 0 ] || explain "only root can install packages"

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT

install() {
  # shellcheck disable=SC2086
  apt-get install -y --no-install-recommends $missing </dev/null >"$log" 2>&1
}

echo "agent-fix: installing $missing" >&2
# The first try uses the package lists that are there; only when it fails are they fetched anew.
if ! install; then
  apt-get update </dev/null >"$log" 2>&1 || true
  if ! install; then
    sleep 3
    install || {
      tail -n 20 "$log" >&2
      explain "apt-get could not install them (its last lines are above)"
    }
  fi
fi
image

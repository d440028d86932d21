#!/bin/sh
# Makes the small Debian image in which the container sandbox is tested, unless podman has it already. Only root can.
set -eu

NAME=localhost/agent-fix-test:2
SUITE=bookworm
PACKAGES=git,make,procps,python3

podman image exists "$NAME" && exit 0
echo "agent-fix: making the test image $NAME (once; a minute or two)" >&2
work=$(mktemp -d /var/tmp/agent-fix-image.XXXXXX)
log=$(mktemp)
trap 'rm -rf --one-file-system "$work"; rm -f "$log"' EXIT

mirror=$(sed -n 's/^URIs: *\(http[^ ]*\).*/\1/p; s/^deb .*\(http[^ ]*\).*/\1/p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v security | head -n 1)
debootstrap --variant=minbase --include="$PACKAGES" "$SUITE" "$work" "${mirror:-http://deb.debian.org/debian}" >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  exit 1
}
rm -rf "$work"/var/cache/apt/archives/*.deb "$work"/var/lib/apt/lists/* "$work"/usr/share/doc "$work"/usr/share/locale
# npm is plain JavaScript: the host's own serves; Node itself is shown to every container.
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
mkdir -p "$work/usr/lib/node_modules"
cp -R "$npm" "$work/usr/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/usr/bin/npm"
tar -C "$work" -c . | podman import --quiet --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' - "$NAME" >/dev/null

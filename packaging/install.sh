#!/bin/sh
# sh install.sh RELEASE [DIRECTORY]: fetches the program for this processor from the address of a release, compares its checksum,
# and puts it into DIRECTORY (/usr/local/bin). It changes nothing else. To uninstall: rm DIRECTORY/lodestone
set -eu
release=${1:?the address of a release is missing} directory=${2:-/usr/local/bin} processor=$(uname -m)
case $processor in armv7l | armv8l) processor=armv7 ;; esac
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
curl -fsSLO "$release/SHA256SUMS"
name=$(sed -n "s/.*  \(lodestone-[0-9][^ ]*-$processor\)\$/\1/p" SHA256SUMS)
[ -n "$name" ] || { echo "this release has no program for $processor" >&2 && exit 1; }
curl -fsSLO "$release/$name" && grep "  $name\$" SHA256SUMS | sha256sum -c -
install -m 755 "$name" "$directory/lodestone" && "$directory/lodestone" --version

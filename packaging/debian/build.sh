#!/bin/sh
# Builds Debian packages of this tree beside it: sh packaging/debian/build.sh.  QUERN_OPTIONS holds options of ./quern install.
set -eu
cd "$(dirname "$0")/../.."
version=$(python3 -m gen.api --version)
interface=$(python3 -m gen.api --soname | sed 's/^libquern\.so\.//')
date=$(sed -n 's/^## .* (\(.*\))$/\1/p' CHANGELOG.md | head -n 1)
rm -rf debian
trap 'rm -rf debian' EXIT
mkdir -p debian/source
cp packaging/debian/rules debian/
sed "s/@VERSION@/$version/; s/@INTERFACE@/$interface/" packaging/debian/control.in >debian/control
echo "3.0 (native)" >debian/source/format
printf 'quern (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- Quern developers <quern@localhost>  %s\n' \
    "$version" "$(LC_ALL=C date -u -R -d "$date")" >debian/changelog
dpkg-buildpackage --build=binary --no-check-builddeps --unsigned-source --unsigned-changes

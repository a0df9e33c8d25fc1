#!/bin/sh
# Installs the archive, the shared library, the headers, the pkg-config files, the CMake package and quern_dump below
# $DESTDIR$PREFIX.  The libraries are taken from the folder QUERN_LIBRARY (.).
set -eu
cd "$(dirname "$0")/../.."
root=${DESTDIR:-}${PREFIX:-/usr/local}
library=${QUERN_LIBRARY:-.}

version_part() {
    sed -n "s/^#define QUERN_VERSION_$1 \([0-9]*\)$/\1/p" include/quern.h
}
major=$(version_part MAJOR)
minor=$(version_part MINOR)
version=$major.$minor.$(version_part PATCH)

# place SOURCE DIRECTORY NAME: copies a file, its @...@ replaced.
place() {
    mkdir -p "$root/$2"
    sed "s/@VERSION@/$version/; s/@MAJOR@/$major/; s/@MINOR@/$minor/" "$1" >"$root/$2/$3"
    chmod 644 "$root/$2/$3"
}

mkdir -p "$root/lib"
cp "$library/libquern.a" "$root/lib/libquern.a"
chmod 644 "$root/lib/libquern.a"
cp "$library/libquern.so" "$root/lib/libquern.so.$version"
chmod 755 "$root/lib/libquern.so.$version"
ln -sf "libquern.so.$version" "$root/lib/libquern.so.$major"
ln -sf "libquern.so.$major" "$root/lib/libquern.so"
place include/quern.h include quern.h
place include/quern_mpi.h include quern_mpi.h
place include/quern_device.cuh include quern_device.cuh
place src/install/quern.pc.in lib/pkgconfig quern.pc
place src/install/quern-shared.pc.in lib/pkgconfig quern-shared.pc
place src/install/quern-config.cmake lib/cmake/quern quern-config.cmake
place src/install/quern-config-version.cmake.in lib/cmake/quern quern-config-version.cmake
for module in bindings/python/quern_dump/*.py; do
    place "$module" share/quern/quern_dump "$(basename "$module")"
done
place src/install/quern_dump.sh bin quern_dump
chmod 755 "$root/bin/quern_dump"
echo "installed libquern.a, libquern.so, the headers, quern.pc, quern-shared.pc, the CMake package and quern_dump below $root"

#!/bin/sh
# Compiles a translated module, or takes the object of another target for which the same text was compiled in the same way:
#     compile.sh IN.cpp OUT.o FOLDER COMPILER FLAG...
# The targets' PTX is often the same but for its first lines, which the translation does not show.  FOLDER keeps what was compiled.
set -eu
in=$1 out=$2 folder=$3
shift 3
here=$(dirname "$0")
mkdir -p "$folder"
key=$({ echo "$@"; "$1" --version; cat "$in" "$here/arithmetic.h" "$here/emulator.h"; } | sha256sum | cut -c 1-32)
kept=$folder/$key.o
exec 9>"$folder/$key.lock"
flock 9
if [ ! -e "$kept" ]; then
    find "$folder" -type f -mtime +7 -delete
    "$@" -c "$in" -o "$kept.new"
    mv "$kept.new" "$kept"
fi
cp "$kept" "$out"

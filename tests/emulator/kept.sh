#!/bin/sh
# Makes OUT from IN by a command, or takes what the same command has made of the same text for another target:
#     kept.sh IN OUT FOLDER FILES COMMAND...      runs COMMAND... IN -o OUT; FILES are further files that the result depends on
# The targets' PTX is often the same but for its first lines, which the emulator does not need.  FOLDER keeps what was made.
set -eu
in=$1 out=$2 folder=$3 files=$4
shift 4
mkdir -p "$folder"
key=$({ echo "$@"; "$1" --version; grep -v '^\.target\|^//' "$in"; cat $files; } | sha256sum | cut -c 1-32)
kept=$folder/$key.${out##*.}
exec 9>"$folder/$key.lock"
flock 9
if [ ! -e "$kept" ]; then
    find "$folder" -ignore_readdir_race -type f -mtime +7 -delete  # others delete and rename at the same time
    "$@" "$in" -o "$kept.new.${out##*.}"
    mv "$kept.new.${out##*.}" "$kept"
fi
cp "$kept" "$out"

#!/bin/sh
# Proves `./quern demo` and `./quern test` on new machines: bare Debian roots, made with debootstrap.
#   tests/door.sh [ROOT...]     default: bookworm bookworm+blas trixie trixie+blas
# The name of a root is a release, followed by +blas if the root has netlib's BLAS and its cblas.h.  In each root the commands run
# as root with nothing installed, and as a user without sudo in a path with a space: with everything installed, and with one
# package missing.
#   DOOR_DIR    the directory of roots and logs; bare roots stay there for the next run (default: a temporary directory)
#   DOOR_TEST   the arguments of `./quern test` (default: --quick)
# It needs root, debootstrap and the network, and is skipped without them.
set -eu
cd "$(dirname "$0")/.."
here=$PWD
test_arguments=${DOOR_TEST---quick}
demo_arguments="--steps 20"
passed=0
failed=0

skip() {
    echo "door: skipped, $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# The mirror of this machine's own packages.
find_mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' | tr ' ' '\n' | grep '/debian/\{0,1\}$' | head -n 1
}

[ "$(id -u)" = 0 ] || skip "only root can make roots"
command -v debootstrap >/dev/null 2>&1 || skip "there is no debootstrap"
mirror=$(find_mirror) || true
mirror=${mirror:-http://deb.debian.org/debian}
python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20)' \
    "$mirror/dists/bookworm/Release" 2>/dev/null || skip "$mirror cannot be reached"

if [ -n "${DOOR_DIR:-}" ]; then
    mkdir -p "$DOOR_DIR"
    directory=$(cd "$DOOR_DIR" && pwd)
    keep=true
else
    directory=$(mktemp -d)
    keep=false
fi
root=

unmount() {
    [ -n "$root" ] || return 0
    for place in dev proc; do
        if mountpoint -q "$root/$place"; then umount -R "$root/$place" || umount -R -l "$root/$place"; fi
    done
}

# Removes a root, but only if no file system of this machine is still mounted in it.
remove_root() {
    unmount
    for place in dev proc; do
        if mountpoint -q "$root/$place"; then return 1; fi
    done
    rm -rf "$root"
    root=
}

finish() {
    status=$?
    trap - EXIT
    unmount
    if ! $keep && { [ -z "$root" ] || remove_root; }; then rm -rf "$directory"; fi
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

# ---- a root ----

# The certificates of a proxy.  In a root they have a separate name, which no package overwrites.
certificates=${PIP_CERT:-${SSL_CERT_FILE:-}}

# in_root USER COMMAND...: runs a command in the root with a bare environment and this machine's settings for proxies and pip.
in_root() {
    user=$1
    shift
    case $user in root) home=/root ;; *) home=/home/$user ;; esac
    env | grep -E '^(PIP_[A-Z_]*|[A-Za-z]*_(proxy|PROXY))=' | grep -v '^PIP_CERT=' >"$directory/settings" || true
    if [ -f "$certificates" ]; then echo "PIP_CERT=/etc/door.crt" >>"$directory/settings"; fi
    set -- env -i HOME="$home" USER="$user" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
    while IFS= read -r setting; do
        first=$1 second=$2
        shift 2
        set -- "$first" "$second" "$setting" "$@"
    done <"$directory/settings"
    chroot --userspec="$user:$user" "$root" "$@" </dev/null
}

# The root's /dev is its own: a root that an interrupted run leaves can be deleted, and the machine keeps its devices.
mount_root() {
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in null zero full random urandom tty; do
        : >"$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    for stream in stdin:0 stdout:1 stderr:2; do ln -s "/proc/self/fd/${stream#*:}" "$root/dev/${stream%:*}"; done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
}

# Copies the settings by which this machine reaches its mirror and its Python packages.
carry_settings() {
    release=${1%+blas}
    printf 'deb %s %s main\ndeb %s %s-updates main\n' "$mirror" "$release" "$mirror" "$release" >"$root/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check|AllowInsecure)' >"$root/etc/apt/apt.conf.d/99door" || true
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$root/etc/"; fi
    if [ -f "$certificates" ]; then install -m 644 "$certificates" "$root/etc/door.crt"; fi
    for place in ${PIP_FIND_LINKS:-}; do
        if [ -d "$place" ]; then mkdir -p "$root$place" && cp -r "$place/." "$root$place/"; fi
    done
}

# make_root NAME: makes a root, from the archive of an earlier run if that exists.
make_root() {
    root=$directory/$1
    if [ -e "$root" ]; then remove_root; fi
    root=$directory/$1
    mkdir -p "$root"
    if [ -e "$directory/$1.tar" ]; then
        tar -C "$root" -xf "$directory/$1.tar"
    else
        debootstrap --variant=minbase "${1%+blas}" "$root" "$mirror"
        case $1 in *+blas)
            carry_settings "$1"
            in_root root apt-get update
            in_root root apt-get install -y --no-install-recommends libblas-dev
            ;;
        esac
        if $keep; then tar -C "$root" -cf "$directory/$1.tar.new" . && mv "$directory/$1.tar.new" "$directory/$1.tar"; fi
    fi
    carry_settings "$1"
    mount_root
    in_root root useradd -m -s /bin/sh stranger
}

# clone OWNER PATH: clones this repository into the root.
clone() {
    rm -rf "$root$2"
    git -c safe.directory='*' clone -q --no-hardlinks "$here" "$root$2"
    in_root root chown -R "$1:$1" "$(dirname "$2")"
}

# ---- steps ----

# step NAME COMMAND...: runs a command and prints one line with its time, and the end of its log if it fails.
step() {
    label="$name: $1"
    log="$directory/$name.$(echo "$1" | tr -c 'a-z0-9\n' _).log"
    shift
    began=$(date +%s)
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "$label: passed ($(($(date +%s) - began)) s)"
        return 0
    fi
    failed=$((failed + 1))
    echo "$label: FAILED ($(($(date +%s) - began)) s)"
    tail -n 30 "$log" | sed 's/^/    /'
    return 1
}

# quern USER PATH ARGUMENT...: runs ./quern at a path in the root.
quern() {
    user=$1 path=$2
    shift 2
    in_root "$user" sh -c 'cd "$1" && shift && exec ./quern "$@"' sh "$path" "$@"
}

demo_trains() {
    quern "$1" "$2" demo $demo_arguments | tee "$directory/output"
    grep -q "step *20/20" "$directory/output" && grep -q "whole step with matrix products" "$directory/output"
}

demo_compiles_little() {
    test -x "$root$1"/build/demo/*/language_model && ! grep -E "NVCC|PTXAS|jinja2" "$directory/output"
}

tests_pass() {
    eval "set -- '$1' '$2' $test_arguments"
    user=$1 path=$2
    shift 2
    quern "$user" "$path" test "$@" | tee "$directory/output"
    tail -n 1 "$directory/output" | grep -q "^[1-9][0-9]* passed, 0 failed"
}

# asks_for PACKAGE...: as the user, ./quern demo prints one line and fails.  The line has the command by which root installs these
# packages.
asks_for() {
    status=0
    quern stranger "$user_path" demo $demo_arguments >"$directory/output" 2>&1 || status=$?
    cat "$directory/output"
    [ $status = 1 ] && [ "$(wc -l <"$directory/output")" = 1 ] || return 1
    for package in "$@"; do
        grep -q "run as root: apt-get install .* $package\( \|$\)" "$directory/output" || return 1
    done
}

asks_for_one() {
    in_root root dpkg --remove --force-depends ninja-build
    asks_for ninja-build && ! grep -q gcc "$directory/output"
}

asks_nothing_for_help() {
    for arguments in "demo --help" "--help"; do
        quern stranger "$user_path" $arguments | grep -q "Usage: ./quern" || return 1
    done
    ! test -e "$root$user_path/build"
}

generated_is_current() {
    quern "$1" "$2" gen check | grep "generated/ is up to date"
}

# .venv is in the state that Ctrl-C leaves.
venv_is_made_again() {
    rm -rf "$root$user_path"/.venv/lib/python3*/site-packages/pip*
    generated_is_current stranger "$user_path"
}

runs_read_only() {
    before=$(cd "$root$user_path" && find . -newer "$directory/stamp" | wc -l)
    chmod -R a-w "$root$user_path"
    demo_trains stranger "$user_path" && [ "$(cd "$root$user_path" && find . -newer "$directory/stamp" | wc -l)" = "$before" ]
    result=$?
    chmod -R u+w "$root$user_path"
    return $result
}

reference_blas_is_enough() {
    packages=$(in_root root dpkg-query -W -f '${Package}\n' 'libopenblas*' | tr '\n' ' ')
    in_root root dpkg --remove --force-depends $packages
    quern stranger "$user_path" demo --steps 2 --no-comparison | tee "$directory/output"
    in_root root apt-get install -y --fix-broken
    grep -q "quern: lib.*blas.so.3 makes the matrix products" "$directory/output" && grep -q "step *2/2" "$directory/output"
}

try_root() {
    name=$1
    root_path=/root/quern
    user_path="/home/stranger/a path/quern"
    step "a bare root" make_root "$name" || return 0
    clone root $root_path
    clone stranger "$user_path"
    step "user with nothing: help" asks_nothing_for_help || true
    step "user with nothing: the line for root" asks_for gcc ninja-build python3 || true
    step "root with nothing: demo" demo_trains root $root_path || return 0
    step "root with nothing: the demo compiles what it needs" demo_compiles_little $root_path || true
    step "root with nothing: gen check" generated_is_current root $root_path || true
    step "root with nothing: test $test_arguments" tests_pass root $root_path || true
    step "user without sudo: demo" demo_trains stranger "$user_path" || true
    touch "$directory/stamp"
    step "user without sudo: demo in a read-only tree" runs_read_only || true
    step "user without sudo: test $test_arguments" tests_pass stranger "$user_path" || true
    step "user without sudo: gen check" generated_is_current stranger "$user_path" || true
    step "user without sudo: an interrupted .venv" venv_is_made_again || true
    case $name in *+blas) step "user without sudo: demo with netlib's BLAS" reference_blas_is_enough || true ;; esac
    step "user without a package: the line for root" asks_for_one || true
    remove_root
}

if [ $# = 0 ]; then set -- bookworm bookworm+blas trixie trixie+blas; fi
for wanted in "$@"; do
    case $wanted in
    bookworm | bookworm+blas | trixie | trixie+blas) try_root "$wanted" ;;
    *) echo "door: there is no root $wanted" >&2 && exit 2 ;;
    esac
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]

#!/bin/sh
# Installs into a folder of its own and builds programs against what was installed, as an engine would: each line under "Linking" in
# examples/README.md and each line in the first comment of an example, as they stand; and the program of README.md.
# Called by tests/run.py.
set -eu
cd "$(dirname "$0")/../.."
# The lines split the words of pkg-config at spaces, so the folder's path must have none, unlike perhaps that of the tree.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# step TITLE COMMAND...: runs it, and shows its output if it fails.
step() {
    echo "consumer: $1"
    shift
    "$@" >"$work/log" 2>&1 || {
        status=$?
        tail -n 40 "$work/log"
        echo "consumer: failed with status $status"
        exit 1
    }
}

# expect TEXT: the last step printed it.
expect() {
    if ! grep -q -- "$1" "$work/log"; then
        echo "consumer: '$1' is not in the output:"
        cat "$work/log"
        exit 1
    fi
}

# The gate installs a library with the kernels of one GPU generation: tests/runner/archives.py.
case ${QUERN_TEST_LIBRARY:-.} in
.) install="ninja install" ;;
*) install="ninja -f build/tests.ninja $QUERN_TEST_LIBRARY/install" ;;
esac
step "ninja install with PREFIX and DESTDIR" env DESTDIR="$work/root" PREFIX=/opt/quern $install
export QUERN="$work/root/opt/quern"
export PKG_CONFIG_PATH="$QUERN/lib/pkgconfig"

step "the installed quern_dump" "$QUERN/bin/quern_dump" --help
expect "usage: quern_dump"

cp -r examples "$work/examples"
ways=$(sed -n '/^## Linking/,$s/^    //p' examples/README.md)
printf '%s\n' "$ways" >"$work/ways"
count=0
while read -r line; do
    step "$line" sh -c "cd '$work/examples/linking' && $line" </dev/null
    expect "losses 0.4076 1.0986, parameters 1.50 0.50 0.50"
    count=$((count + 1))
done <"$work/ways"
if [ $count != 7 ]; then
    echo "consumer: examples/README.md has $count ways of linking: expected 7"
    exit 1
fi

# The first program that a stranger copies, and that it says why it fails.
sed -n '/^```c$/,/^```$/{/^```/d;p;}' README.md >"$work/engine.c"
step "the program of README.md" sh -c "cd '$work' && cc engine.c $(pkg-config --cflags --libs quern) -o engine && ./engine"
expect "$(sed -n 's/^prints `\([0-9. ]*\)`.*/\1/p' README.md)"
step "the program of README.md without a kernel" sh -c "! QUERN_KERNEL='*__avx3' '$work/engine'"
expect "QUERN_NO_KERNEL: .*avx3"

strict="-Wall -Werror -fsyntax-only $(pkg-config --cflags quern)"
step "no warnings in C11" sh -c "cc -std=c11 -Wextra $strict examples/linking/program.c"
step "no warnings in C++20" sh -c "c++ -std=c++20 $strict -x c++ examples/linking/program.c"

# Zig links without the constructors of the compiler's run-time library: the kernels must still be those of this CPU, as with cc.
if command -v zig >/dev/null 2>&1; then
    zig=zig
elif python3 -m ziglang version >/dev/null 2>&1; then
    zig="python3 -m ziglang"
else
    zig=
    echo "consumer: skipped: neither zig nor the Python package ziglang is installed"
fi
if [ -n "$zig" ]; then
    quern="-I $QUERN/include $QUERN/lib/libquern.a"
    cp tests/consumers/program.zig "$work"
    step "the header in Zig" sh -c "$zig translate-c -I '$QUERN/include' -lc '$QUERN/include/quern.h' >'$work/quern.zig'"
    step "a program in Zig" $zig build-exe "$work/program.zig" "$QUERN/lib/libquern.a" -lc -femit-bin="$work/in_zig"
    step "runs" "$work/in_zig"
    step "zig cc" $zig cc examples/linking/program.c $quern -ldl -lm -pthread -o "$work/zig_cc"
    step "cc" cc examples/linking/program.c $quern -ldl -lm -pthread -o "$work/cc"
    used=$(QUERN_LOG=2 "$work/cc" 2>&1 | grep -o "first use of adam.*")
    step "runs" env QUERN_LOG=2 "$work/zig_cc"
    expect "$used"
fi

for source in examples/*.c; do
    line=$(sed -n 's/^ \*   \(cc .*\)/\1/p' "$source")
    if [ -z "$line" ]; then
        echo "consumer: the first comment of $source has no line that compiles it"
        exit 1
    fi
    step "$line" sh -c "cd '$work/examples' && $line"
done

# The program of README.md calls Adam alone.  Of another operation remains a weak, empty row.
step "one operation links only that one" sh -c "! nm --defined-only '$work/engine' | grep -v ' V ' | grep -i cross_entropy"
step "needs no CUDA and no C++ runtime" sh -c "! ldd '$work/engine' | grep -E 'cuda|stdc'"

# The address of a function of a shared library is a place in such a program, and not in the library.
for linker in bfd gold lld; do
    if ! command -v ld.$linker >/dev/null; then
        echo "consumer: $linker: skipped: not installed"
        continue
    fi
    for pie in "-fPIE -pie" "-fno-pie -no-pie"; do
        step "the address of a function, $linker $pie" sh -c "cc $pie -fuse-ld=$linker tests/consumers/address.c \
            \$(pkg-config --cflags --libs quern-shared) -o '$work/address'"
        step "runs" env LD_LIBRARY_PATH="$QUERN/lib" "$work/address"
        if [ -s "$work/log" ]; then
            echo "consumer: the program wrote:"
            cat "$work/log"
            exit 1
        fi
    done
done

# The crates are built in copies, so that nothing is written into the tree.
if command -v cargo >/dev/null; then
    cp -r bindings/rust/quern-sys bindings/rust/quern "$work"
    step "the crate in Rust" sh -c "cd '$work/quern-sys' && cargo run --offline --example linking"
    expect "losses 0.4076 1.0986, parameters 1.50 0.50 0.50"
    step "the crate with QUERN_LIB_DIR" sh -c "cd '$work/quern-sys' && QUERN_LIB_DIR='$QUERN/lib' cargo run --offline --example linking"
    expect "losses 0.4076 1.0986, parameters 1.50 0.50 0.50"
    step "the crate's layouts" sh -c "cd '$work/quern-sys' && cargo run --quiet --offline --example layout >'$work/layout.c'"
    for compiler in cc aarch64-linux-gnu-gcc; do
        if ! command -v $compiler >/dev/null; then
            echo "consumer: the layouts by $compiler: skipped: not installed"
            continue
        fi
        step "the same layouts in C by $compiler" sh -c "$compiler -std=c11 -fsyntax-only -I '$QUERN/include' '$work/layout.c'"
    done
    step "the crate as a package" sh -c "cd '$work/quern-sys' && QUERN_LIB_DIR='$QUERN/lib' cargo package --offline --allow-dirty"
    step "the safe crate's tests" sh -c "cd '$work/quern' && cargo test --offline"
    expect "test cross_entropy_is_the_formula_and_its_slope ... ok"
    expect "test src/lib.rs .* ok"
    step "the safe crate's example" sh -c "cd '$work/quern' && cargo run --offline --example bigrams"
    expect "loss 4.852, after 100 steps 1.308"
    # No registry has quern-sys.
    step "the safe crate as a package" sh -c "cd '$work/quern' && QUERN_LIB_DIR='$QUERN/lib' cargo package --offline --allow-dirty \
        --config 'patch.crates-io.quern-sys.path = \"../quern-sys\"'"
else
    echo "consumer: the crates in Rust: skipped: no cargo"
fi

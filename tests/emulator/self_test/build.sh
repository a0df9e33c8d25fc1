#!/bin/sh
# Builds and runs the emulator's self-test: build.sh OUTPUT_DIRECTORY [none|address|thread]; kernels have no AddressSanitizer.
# The real build has its own rules; this shows the steps and serves when working on the emulator alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
emulator=$(dirname "$here")
out=$1 sanitizer=${2:-none}
architectures=${ARCHITECTURES:-"75 80 86 89 90a 100f 103a 120f"}
case $sanitizer in
  none) cxx=${CXX:-c++} flags=-O1 main_flags=-O1 ;;
  address) cxx=clang++ flags=-O1 main_flags="-O1 -g -fsanitize=address" ;;
  thread) cxx=clang++ flags="-O1 -g -fsanitize=thread" main_flags="-O1 -g -fsanitize=thread" ;;
esac
mkdir -p "$out"

# nvcc may lie where only the generator finds it: among the Python packages.
nvcc=$(cd "$emulator/../.." && "${PYTHON:-python3}" -c 'from gen.toolchain import find_nvcc; print(find_nvcc() or "")')
[ -n "$nvcc" ] || { echo "build.sh: nvcc not found"; exit 1; }
PATH=$(dirname "$nvcc"):$PATH

translate() { # SOURCE VIRTUAL STEM
  nvcc -ptx -arch="$2" -std=c++17 -fmad=false "$here/$1" -o "$out/$3.ptx"
  python3 "$emulator/translate.py" "$out/$3.ptx" -o "$out/$3.cpp"
  PYTHONPATH=$emulator/../.. python3 -m gen.store "$out/$3.cpp" "$out/$3.o" \
    "$emulator/arithmetic.h $emulator/approximations.h $emulator/emulator.h" \
    $cxx -std=c++17 $flags -fPIC -ffp-contract=off -I "$emulator" -c
}
link() { # LIBRARY STEM...
  library=$1
  shift
  $cxx -shared $flags $(printf "$out/%s.o " "$@") -o "$out/$library.so"
}
assemble() { # ARCHITECTURE STEM
  ptxas -arch="sm_$1" "$out/$2.ptx" -o "$out/$2.cubin"
}

# What the translator does not know, it must refuse.
refused() {
  printf '.version 9.0\n.target sm_90\n.address_size 64\n.visible .entry f()\n{\n\t.reg .b32 %%r<2>;\n\t%s;\n}\n' "$1" >"$out/bad.ptx"
  if python3 "$emulator/translate.py" "$out/bad.ptx" -o "$out/bad.cpp" 2>"$out/bad.txt"; then echo "accepted: $1"; exit 1; fi
  grep -q 'line 7' "$out/bad.txt"
}
refused 'frobnicate.b32 %r1, %r1'
refused 'add.frobnicated.s32 %r1, %r1, %r1'
refused 'mbarrier.inval.shared::cluster.b64 [%r1]'
refused 'mbarrier.frobnicate.shared::cta.b64 [%r1]'
refused 'cp.async.bulk.global.shared::cta [%r1], [%r1], 16'
refused 'add.s32 %r1, %r0, %r1'
refused 'multimem.ld_reduce.relaxed.sys.global.max.f32 %r1, [%r1]'
refused 'multimem.ld_reduce.relaxed.sys.global.add.v8.f32 {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1}, [%r1]'
refused 'multimem.ld_reduce.relaxed.sys.global.add.v4.bf16x2 {%r1, %r1, %r1, %r1}, [%r1]'
refused 'multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f32 {%r1, %r1, %r1, %r1}, [%r1]'

images= rank_images= cluster_images=
for a in $architectures; do
  translate kernels.cu "compute_$a" "sm_$a"
  assemble "$a" "sm_$a"
  fatbinary --compress=false -64 --create="$out/sm_$a.fatbin" --image3="kind=elf,sm=$a,file=$out/sm_$a.cubin"
  images="$images --image3=kind=elf,sm=$a,file=$out/sm_$a.cubin"
  stems=sm_$a
  case $a in
    75 | 90a | 100f)
      translate ranks.cu "compute_$a" "ranks_$a"
      assemble "$a" "ranks_$a"
      rank_images="$rank_images --image3=kind=elf,sm=$a,file=$out/ranks_$a.cubin"
      stems="$stems ranks_$a" ;;
  esac
  case $a in
    90a | 100f | 120f)
      translate clusters.cu "compute_$a" "clusters_$a"
      assemble "$a" "clusters_$a"
      cluster_images="$cluster_images --image3=kind=elf,sm=$a,file=$out/clusters_$a.cubin"
      stems="$stems clusters_$a" ;;
  esac
  if [ "$a" = 90a ]; then
    translate dependents.cu "compute_$a" "dependents_$a"
    assemble "$a" "dependents_$a"
    fatbinary --compress=false -64 --create="$out/dependents.fatbin" --image3="kind=elf,sm=$a,file=$out/dependents_$a.cubin"
    stems="$stems dependents_$a"
  fi
  link "sm_$a" $stems
done
translate kernels.cu compute_90 compute_90
translate clusters.cu compute_90 clusters_compute_90
link compute_90 compute_90 clusters_compute_90
fatbinary --compress=false -64 --create="$out/ranks.fatbin" $rank_images
fatbinary --compress=false -64 --create="$out/clusters.fatbin" $cluster_images \
  --image3="kind=ptx,sm=90,file=$out/clusters_compute_90.ptx"
fatbinary --compress=false -64 --create="$out/all.fatbin" $images --image3="kind=ptx,sm=90,file=$out/compute_90.ptx"
if [ -n "${DRIVER:-}" ]; then  # built before
  cp "$DRIVER" "$out/libcuda.so.1"
else
  frame=$(sed -n 's/^translated_frame = //p' "$emulator/../tests.ninja")
  c++ -std=c++17 -O2 -fPIC -DTRANSLATED_FRAME="$frame" -shared -pthread "$emulator"/runtime/*.cpp \
    "$emulator"/libcuda*.cpp -lzstd -o "$out/libcuda.so.1"
fi
for program in self_test shared_memory ranks clusters dependents; do
  $cxx -std=c++17 $main_flags "$here/$program.cpp" -o "$out/$program" -ldl -pthread
done
export LD_LIBRARY_PATH="$out"
status=0
"$out/self_test" "$out" >"$out/counts.txt" || status=1
for seed in 1 2; do
  QUERN_EMULATOR_APPROXIMATE=$seed "$out/self_test" "$out" approximations >>"$out/counts.txt" || status=1
done
QUERN_EMULATOR_CLOCK=virtual "$out/self_test" "$out" clock >>"$out/counts.txt" || status=1
QUERN_EMULATOR_FRONT=1 "$out/self_test" "$out" edges >>"$out/counts.txt" || status=1
for devices in 7.5,7.5 9.0,9.0 10.0,10.0; do
  for program in shared_memory ranks; do
    QUERN_EMULATOR_MULTICAST=1 QUERN_EMULATOR=$devices "$out/$program" "$out" >>"$out/counts.txt" || status=1
  done
done
for device in 9.0 10.0 11.0 12.0; do  # 11.0 runs what was compiled for 9.0's PTX
  for order in forward reverse random:3; do
    QUERN_EMULATOR_ORDER=$order QUERN_EMULATOR=$device "$out/clusters" "$out" >>"$out/counts.txt" || status=1
  done
done
for order in forward reverse random:3; do
  QUERN_EMULATOR_ORDER=$order QUERN_EMULATOR=9.0 "$out/dependents" "$out" >>"$out/counts.txt" || status=1
done
grep -v '^[0-9]* passed, ' "$out/counts.txt" || true
awk '/^[0-9]+ passed, / { passed += $1; failed += $3 } END { print passed " passed, " failed " failed" }' "$out/counts.txt"
exit $status

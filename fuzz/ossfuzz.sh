#!/usr/bin/env bash
# OSS-Fuzz's build.sh: programs, seeds and dictionaries into $OUT, with the compiler, the flags and the engine that it
# gives ($CC, $CXX, $CXXFLAGS, $LIB_FUZZING_ENGINE). Debian's packages of `make deps` must be there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# libc++ reads no floating-point numbers (std::from_chars) before version 20.
CXXFLAGS=${CXXFLAGS:-}
CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
: "${CC:?}" "${CXX:?}" "${LIB_FUZZING_ENGINE:?}" "${OUT:?}"
build=${WORK:-build}/ossfuzz
dictionaries=fuzz/dictionaries

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="" \
  -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="$CXXFLAGS" \
  -DCARMINA_FUZZ=ON -DCARMINA_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DCARMINA_TESTS=OFF \
  -DCMAKE_INSTALL_RPATH='$ORIGIN' -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON
cmake --build "$build" --target make_seeds fuzzers

# What the programs load must lie beside them.
libraries=$(ldd "$build/fuzz/make_seeds" | awk '/libz\.so/ { print $3 }')
for library in $libraries; do
  cp --dereference "$library" "$OUT"
done
LD_LIBRARY_PATH=$OUT "$build/fuzz/make_seeds" "$build/seeds"
for program in "$build"/fuzz/fuzz_*; do
  name=$(basename "$program")
  name=${name#fuzz_}
  cp "$program" "$OUT/fuzz_$name"
  seeds=("$build/seeds/$name"/*)
  if [[ -d fuzz/finds/$name ]]; then
    seeds+=("fuzz/finds/$name"/*)
  fi
  python3 -m zipfile --create "$OUT/fuzz_${name}_seed_corpus.zip" "${seeds[@]}"
  if [[ -f $dictionaries/$name.dict ]]; then
    cp "$dictionaries/$name.dict" "$OUT/fuzz_$name.dict"
  fi
done
cat "$dictionaries"/{csv,arff,npy,libsvm,idx}.dict > "$OUT/fuzz_gzip.dict"
cat "$dictionaries"/{header,description}.dict > "$OUT/fuzz_model.dict"

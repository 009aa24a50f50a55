#!/usr/bin/env bash
# Installs into a fresh prefix; builds the examples against it with find_package and with pkg-config; runs them.
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }

mkdir "$work/project"
cp "$source"/examples/c_example.c "$source"/examples/cpp_example.cpp "$source"/tests/package/CMakeLists.txt "$work/project"
cd "$work/project"
cmake -S . -B out -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build out
./out/c_example
./out/cpp_example

# Moved: nothing in the package may name the place it was installed to.
mv "$prefix" "$work/moved"
export PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name speedlight.pc)")
flags() { pkg-config "$@" speedlight; }
gcc -std=c99 -pedantic -Wall -Wextra -Werror c_example.c -o c_pkg $(flags --cflags --libs) -lm
g++ -std=c++17 -pedantic -Wall -Wextra -Werror cpp_example.cpp -o cpp_pkg $(flags --cflags --libs)
export LD_LIBRARY_PATH=$(flags --variable=libdir)
./c_pkg
./cpp_pkg

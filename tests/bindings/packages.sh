#!/bin/sh
# packages.sh: a program that takes ipt by CMake, by meson or from a port of
# vcpkg, as those projects take it, gives what it gives without them. vcpkg
# itself is not here: its functions are stood in for.

. "$(dirname "$0")/reference.sh"
packaging=$root/examples/packaging
mkdir "$tmp/cmake" "$tmp/meson"

# ---- CMake ----

# cmake_project NAME CMAKE-LINES: a project with the consumer.
cmake_project() {
    mkdir "$tmp/cmake/$1"
    cat >"$tmp/cmake/$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(x C)
$2
add_executable(consumer "$root/tests/bindings/consumer.c")
target_link_libraries(consumer PRIVATE ipt::ipt)
END
}
# cmake_build NAME [OPTION...]
cmake_build() {
    project=$tmp/cmake/$1
    shift
    quietly "cmake: ${project##*/}" cmake -S "$project" -B "$project/build" \
        -DCMAKE_BUILD_TYPE=Release "$@" &&
        quietly "cmake --build: ${project##*/}" cmake --build "$project/build" &&
        decodes "CMake's ${project##*/}" "$project/build/consumer"
}
if have cmake cmake; then
    cmake_project fetched "include(FetchContent)
FetchContent_Declare(ipt SOURCE_DIR \"$root\"
  SOURCE_SUBDIR examples/packaging/cmake)
FetchContent_MakeAvailable(ipt)"
    cmake_build fetched
    cmake_project added "add_subdirectory(\"$packaging/cmake\" ipt)"
    cmake_build added
    # As find_package finds it, from vcpkg's port: the functions do what
    # vcpkg's do.
    cat >"$tmp/vcpkg.cmake" <<END
set(CURRENT_PACKAGES_DIR "$tmp/vcpkg")
function(vcpkg_from_git)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_SOURCE_PATH;URL;REF" "")
  if(NOT arg_URL OR NOT arg_REF OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_from_git")
  endif()
  set(\${arg_OUT_SOURCE_PATH} "$root" PARENT_SCOPE)
endfunction()
function(run)
  execute_process(COMMAND \${ARGN} RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR "\${ARGN}")
  endif()
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH "")
  run("\${CMAKE_COMMAND}" -S "\${arg_SOURCE_PATH}" -B "$tmp/port"
    "-DCMAKE_INSTALL_PREFIX=\${CURRENT_PACKAGES_DIR}")
endfunction()
function(vcpkg_cmake_install)
  run("\${CMAKE_COMMAND}" --build "$tmp/port" --target install)
endfunction()
function(vcpkg_cmake_config_fixup)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" FILE_LIST "")
  file(COPY \${arg_FILE_LIST} DESTINATION "\${CURRENT_PACKAGES_DIR}/share/ipt")
endfunction()
include("$packaging/vcpkg/portfile.cmake")
END
    quietly "port of vcpkg" cmake -P "$tmp/vcpkg.cmake"
    cmake_project found 'find_package(ipt 0.1 REQUIRED)'
    cmake_build found -DCMAKE_PREFIX_PATH="$tmp/vcpkg"
    case $(grep ipt_DIR "$tmp/cmake/found/build/CMakeCache.txt") in
    *"$tmp/vcpkg/share/ipt") pass ;;
    *) fail "found is another ipt" ;;
    esac
    grep -q "PACKAGE_VERSION \"$version\"" \
        "$tmp/vcpkg/share/ipt/ipt-config-version.cmake" && pass ||
        fail "the port is not of $version"
fi

# ---- meson ----

# The wrap as it is, but of a source that lies where meson puts what it has
# fetched.
if have meson meson && have ninja ninja-build; then
    project=$tmp/meson
    archive=$project/subprojects/packagecache/ipt-$version.tar.gz
    mkdir -p "$project/subprojects/packagecache" "$tmp/ipt-$version"
    cp ipt.h ipt_impl.h LICENSE "$tmp/ipt-$version"
    tar -C "$tmp" -czf "$archive" "ipt-$version"
    cp -r "$packaging"/meson/* "$project/subprojects"
    hash=$(sha256sum <"$archive")
    sed -i "s/^source_hash = .*/source_hash = ${hash%% *}/" \
        "$project/subprojects/ipt.wrap"
    cp tests/bindings/consumer.c "$project"
    cat >"$project/meson.build" <<END
project('x', 'c', default_options: ['buildtype=release'])
ipt = dependency('ipt', version: '$version')
executable('consumer', 'consumer.c', dependencies: ipt)
END
    quietly "meson setup" meson setup "$project/build" "$project" &&
        quietly "meson compile" meson compile -C "$project/build" &&
        decodes meson "$project/build/consumer"
fi
report

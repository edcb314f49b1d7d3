# A port of vcpkg, for ports/ipt. Address and commit are placeholders.
set(VCPKG_BUILD_TYPE release) # headers only
vcpkg_from_git(OUT_SOURCE_PATH SOURCE_PATH
  URL "https://ipt.invalid/ipt.git"
  REF 0000000000000000000000000000000000000000)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}/examples/packaging/cmake")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

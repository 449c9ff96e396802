# portfile.cmake -- the library, and with the feature `tools` the program. Not run: see packaging/README.md.
vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO OWNER/carmina  # of the release, with the checksum below
  REF "v${VERSION}"
  SHA512 0
  HEAD_REF main)
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES tools CARMINA_PROGRAM)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${FEATURE_OPTIONS} -DCARMINA_TESTS=OFF -DCARMINA_C=OFF -DCARMINA_PCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Carmina CONFIG_PATH lib/cmake/Carmina)
vcpkg_fixup_pkgconfig()
if(CARMINA_PROGRAM)
  vcpkg_copy_tools(TOOL_NAMES carmina AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

# An overlay port that builds the tree in which it lies: vcpkg install quern --overlay-ports=packaging/vcpkg.  A triplet may set
# QUERN_OPTIONS to a list of options of ./quern install.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)
# The CMake package finds its prefix from lib/cmake/quern.
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)

vcpkg_find_acquire_program(PYTHON3)
vcpkg_find_acquire_program(NINJA)
get_filename_component(ninja_folder "${NINJA}" DIRECTORY)
vcpkg_add_to_path("${ninja_folder}")
vcpkg_execute_required_process(
  COMMAND "${PYTHON3}" -m gen.selection install "${CURRENT_PACKAGES_DIR}" ${QUERN_OPTIONS}
  WORKING_DIRECTORY "${SOURCE_PATH}"
  LOGNAME "install-${TARGET_TRIPLET}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

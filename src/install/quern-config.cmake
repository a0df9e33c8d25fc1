# find_package(quern) gives two targets: quern::quern, the archive, and quern::shared, the shared library.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(_quern_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET quern::quern)
  add_library(quern::quern STATIC IMPORTED)
  set_target_properties(quern::quern PROPERTIES
    IMPORTED_LOCATION "${_quern_prefix}/lib/libquern.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_quern_prefix}/include"
    # A shared object that contains the archive keeps its functions to itself.
    INTERFACE_LINK_OPTIONS "LINKER:--exclude-libs,libquern.a"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
if(NOT TARGET quern::shared)
  add_library(quern::shared SHARED IMPORTED)
  set_target_properties(quern::shared PROPERTIES
    IMPORTED_LOCATION "${_quern_prefix}/lib/libquern.so"
    IMPORTED_SONAME "libquern.so.@MAJOR@"
    INTERFACE_INCLUDE_DIRECTORIES "${_quern_prefix}/include")
endif()
unset(_quern_prefix)

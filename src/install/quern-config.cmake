# find_package(quern) gives the target quern::quern.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(_quern_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET quern::quern)
  add_library(quern::quern STATIC IMPORTED)
  set_target_properties(quern::quern PROPERTIES
    IMPORTED_LOCATION "${_quern_prefix}/lib/libquern.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_quern_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
unset(_quern_prefix)

# SPDX-License-Identifier: Apache-2.0 OR MIT
# Puts the texts of confine/profiles/ into the program, and installs them for reading. Included once aegis_confine is
# there. CMake runs again when a profile changes, appears or goes.

include(GNUInstallDirs)
file(GLOB profiles CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/confine/profiles/*.profile)
list(SORT profiles)
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profiles})

set(rows "")
foreach(profile IN LISTS profiles)
  get_filename_component(name ${profile} NAME_WE)
  file(READ ${profile} text)
  string(FIND "${text}" ")profile\"" ends_early)
  if(NOT ends_early EQUAL -1)
    message(FATAL_ERROR "${profile} holds what ends a raw string")
  endif()
  string(APPEND rows "    {\"${name}\", R\"profile(${text})profile\"},\n")
endforeach()
if(rows STREQUAL "")
  message(FATAL_ERROR "there is no profile in confine/profiles/")
endif()

# Written only when it differs, so that nothing is compiled again for nothing.
set(builtin_profiles ${CMAKE_BINARY_DIR}/confine/builtin_profiles.cc)
file(CONFIGURE OUTPUT ${builtin_profiles} @ONLY CONTENT
"// SPDX-License-Identifier: Apache-2.0 OR MIT
// Made by confine/profiles.cmake from confine/profiles/.
#include \"confine/builtin_profiles.h\"

namespace aegis::confine {

std::span<const BuiltinProfile> builtin_profile_table() {
  static constexpr BuiltinProfile kTable[] = {
@rows@  };
  return kTable;
}

}  // namespace aegis::confine
")
target_sources(aegis_confine PRIVATE ${builtin_profiles})

install(FILES ${profiles} DESTINATION ${CMAKE_INSTALL_DATADIR}/aegis/profiles)

# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compiles the system-call filters while aegis is built and puts them into the program (confine/ready_filters.h).
# Included once aegis_confine is there.

set(ready_filters ${CMAKE_BINARY_DIR}/confine/ready_filter_table.cc)
set(head
"// SPDX-License-Identifier: Apache-2.0 OR MIT
// Made by confine/filters.cmake and confine/generate/filters.cc.
#include \"confine/ready_filters.h\"

namespace aegis::confine {
")

if(CMAKE_CROSSCOMPILING)  # libseccomp here would speak of this machine's system calls
  file(CONFIGURE OUTPUT ${ready_filters} @ONLY CONTENT
"@head@
std::span<const ReadyFilter> ready_filters() {
  return {};
}

}  // namespace aegis::confine
")
else()
  add_executable(aegis_make_filters confine/generate/filters.cc
    confine/seccomp.cc confine/filter_builder.cc confine/socket_rules.cc confine/result.cc)
  target_include_directories(aegis_make_filters PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(aegis_make_filters PRIVATE aegis_flags aegis_dep_seccomp)
  file(CONFIGURE OUTPUT ${ready_filters} @ONLY CONTENT
"@head@namespace {

#include \"confine/ready_filters.inc\"

}  // namespace

std::span<const ReadyFilter> ready_filters() {
  return kReady;
}

}  // namespace aegis::confine
")
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/confine/ready_filters.inc
    COMMAND aegis_make_filters > ${CMAKE_BINARY_DIR}/confine/ready_filters.inc
    DEPENDS aegis_make_filters VERBATIM)
  set_property(SOURCE ${ready_filters} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/confine/ready_filters.inc)
endif()
target_sources(aegis_confine PRIVATE ${ready_filters})
target_include_directories(aegis_confine PRIVATE ${CMAKE_BINARY_DIR})

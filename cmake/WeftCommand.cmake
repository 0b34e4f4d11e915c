# The command `weft` (src/cli) and the example programs.
file(GLOB_RECURSE WEFT_CLI_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.c)
list(FILTER WEFT_CLI_SOURCES EXCLUDE REGEX "_test\\.c$")
set(WEFT_MAIN ${PROJECT_SOURCE_DIR}/src/cli/main.c)
list(REMOVE_ITEM WEFT_CLI_SOURCES ${WEFT_MAIN})

# All of the command but its main(), so that tests and fuzzers can call it.
add_library(weft_cli INTERFACE)
if(WEFT_CLI_SOURCES)
  add_library(weft_cli_archive STATIC ${WEFT_CLI_SOURCES})
  target_link_libraries(weft_cli_archive PUBLIC weft_internal)
  set_target_properties(weft_cli_archive PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/internal)
  target_link_libraries(weft_cli INTERFACE weft_cli_archive)
endif()
target_link_libraries(weft_cli INTERFACE weft_internal)

if(EXISTS ${WEFT_MAIN})
  add_executable(weft ${WEFT_MAIN})
  target_link_libraries(weft PRIVATE weft_cli)
  if(WEFT_LEAN)
    target_link_options(weft PRIVATE -static)
  elseif(SKBUILD)
    target_link_libraries(weft PRIVATE weft_archives)
  endif()
endif()

# Examples see what a user sees: the public header and the shared library.
file(GLOB WEFT_EXAMPLES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
if(WEFT_LEAN)
  set(WEFT_EXAMPLES)
endif()
foreach(source IN LISTS WEFT_EXAMPLES)
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE weft_flags weft_shared m)
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endforeach()

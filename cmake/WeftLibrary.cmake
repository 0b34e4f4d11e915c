# The library, compiled once and packed three ways:
#   weft_internal  an archive with all symbols, for the command and the tests
#   libweft.so     only weft_* leaves (tools/check_symbols looks)
#   libweft.a      one object whose internal symbols were made local, so that it can be linked
#                  into any program without clashes
file(GLOB_RECURSE WEFT_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(FILTER WEFT_SOURCES EXCLUDE REGEX "_test\\.c$|/src/cli/")
if(NOT WEFT_SOURCES)
  file(WRITE ${PROJECT_BINARY_DIR}/empty.c "extern int weft_empty;\n")
  set(WEFT_SOURCES ${PROJECT_BINARY_DIR}/empty.c)
endif()
weft_flag_sources(${WEFT_SOURCES})

add_library(weft_objects OBJECT ${WEFT_SOURCES})
target_link_libraries(weft_objects PUBLIC weft_flags weft_dependencies)
target_include_directories(weft_objects PUBLIC
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(weft_objects PUBLIC WEFT_VERSION_TEXT="${PROJECT_VERSION}")

add_library(weft_internal STATIC $<TARGET_OBJECTS:weft_objects>)
target_link_libraries(weft_internal PUBLIC weft_flags weft_dependencies)
target_include_directories(weft_internal PUBLIC
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(weft_internal PUBLIC WEFT_VERSION_TEXT="${PROJECT_VERSION}")
set_target_properties(weft_internal PROPERTIES
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/internal LINKER_LANGUAGE C)

if(NOT WEFT_LEAN)
  add_library(weft_shared SHARED $<TARGET_OBJECTS:weft_objects>)
  target_link_libraries(weft_shared PRIVATE weft_flags weft_dependencies)
  target_include_directories(weft_shared INTERFACE ${PROJECT_SOURCE_DIR}/include)
  target_link_options(weft_shared PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/weft.map)
  if(NOT WEFT_SANITIZE AND NOT WEFT_FUZZ)
    target_link_options(weft_shared PRIVATE -Wl,--no-undefined)
  endif()
  # Until 1.0 a MINOR may change what programs were built with.
  set(WEFT_SOVERSION ${PROJECT_VERSION_MAJOR})
  if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(WEFT_SOVERSION 0.${PROJECT_VERSION_MINOR})
  endif()
  set_target_properties(weft_shared PROPERTIES
    OUTPUT_NAME weft VERSION ${PROJECT_VERSION} SOVERSION ${WEFT_SOVERSION}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/weft.map LINKER_LANGUAGE C)
endif()

if(NOT WEFT_SANITIZE AND NOT WEFT_FUZZ)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/libweft.a
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o libweft.o $<TARGET_OBJECTS:weft_objects>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden libweft.o
    COMMAND ${CMAKE_COMMAND} -E rm -f libweft.a
    COMMAND ${CMAKE_AR} crs libweft.a libweft.o
    COMMAND ${CMAKE_COMMAND} -E rm -f libweft.o
    DEPENDS weft_objects $<TARGET_OBJECTS:weft_objects>
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    COMMENT "Packing libweft.a" VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(weft_static ALL DEPENDS ${PROJECT_BINARY_DIR}/libweft.a)
endif()

# A build tree is laid out like a prefix, so that the command finds the header of its own version
# the same way in both places.
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include SYMBOLIC)

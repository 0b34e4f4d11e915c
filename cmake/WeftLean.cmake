# build/weft-lean: the command as one static file, for machines on which nothing is installed. It has no Python package and
# asks no library of the machine. Its objects are those of the command, but for the few sources that say how a shared
# or a static program does something: those, which name WEFT_STATIC, are compiled once more.
if(WEFT_LEAN OR WEFT_SANITIZE OR WEFT_FUZZ OR SKBUILD OR NOT TARGET weft)
  return()
endif()

set(missing)
foreach(name IN ITEMS uv_a ssl crypto protobuf-c jansson z zstd lz4 lzma bz2)
  find_library(WEFT_STATIC_${name} NAMES lib${name}.a)
  if(NOT WEFT_STATIC_${name})
    list(APPEND missing lib${name}.a)
  endif()
endforeach()
if(missing)
  list(JOIN missing ", " missing)
  message(STATUS "weft-lean is not built: there is no ${missing}")
  return()
endif()

set(WEFT_STATIC_SOURCES)
foreach(source IN LISTS WEFT_SOURCES)
  file(STRINGS ${source} names_it REGEX "WEFT_STATIC|sys/secure/openssl\\.h")
  if(names_it)
    list(APPEND WEFT_STATIC_SOURCES ${source})
  endif()
endforeach()

add_executable(weft_lean ${WEFT_MAIN} ${WEFT_STATIC_SOURCES})
target_compile_definitions(weft_lean PRIVATE WEFT_STATIC WEFT_OPENSSL_LINKED WEFT_VERSION_TEXT="${PROJECT_VERSION}")
target_include_directories(weft_lean PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_include_directories(weft_lean SYSTEM PRIVATE ${XXHASH_INCLUDE_DIRS} ${OPENSSL_INCLUDE_DIRS})
# The linker warns of getaddrinfo and the like, which in a static program may load libraries of the machine: ours does not
# let them (sys/machine/names.c).
target_link_libraries(weft_lean PRIVATE weft_flags $<TARGET_FILE:weft_cli_archive> $<TARGET_FILE:weft_internal>
  ${WEFT_STATIC_uv_a} ${WEFT_STATIC_ssl} ${WEFT_STATIC_crypto} ${WEFT_STATIC_protobuf-c} ${WEFT_STATIC_jansson}
  ${WEFT_STATIC_z} ${WEFT_STATIC_zstd} ${WEFT_STATIC_lz4} ${WEFT_STATIC_lzma} ${WEFT_STATIC_bz2} pthread dl rt m)
target_link_options(weft_lean PRIVATE -static -s -Wl,--gc-sections)
include(CheckLinkerFlag)
check_linker_flag(C -Wl,--no-warnings WEFT_LINKER_IS_SILENT)
if(WEFT_LINKER_IS_SILENT)
  target_link_options(weft_lean PRIVATE -Wl,--no-warnings)
endif()
add_dependencies(weft_lean weft_cli_archive weft_internal)
set_target_properties(weft_lean PROPERTIES OUTPUT_NAME weft-lean POSITION_INDEPENDENT_CODE OFF
  LINK_DEPENDS "$<TARGET_FILE:weft_cli_archive>;$<TARGET_FILE:weft_internal>")

install(PROGRAMS $<TARGET_FILE:weft_lean> DESTINATION lib/weft)

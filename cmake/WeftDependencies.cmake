# What we link with, found by pkg-config, as the interface target `weft_dependencies`.
# A missing one stops here; `make` installs them first (tools/packages.sh).
find_package(PkgConfig REQUIRED)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv>=1.44)
# Its archive has another name than its shared library; the file that says so is not everywhere.
pkg_check_modules(UV_STATIC QUIET libuv-static>=1.44)
set(WEFT_UV_PRIVATE libuv)
if(UV_STATIC_FOUND)
  set(WEFT_UV_PRIVATE libuv-static)
endif()
pkg_check_modules(OPENSSL REQUIRED openssl>=3.0) # only its headers: loaded when TLS is needed
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c>=1.3)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib>=1.2.11)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.5)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4>=1.9)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma>=5.2)
find_library(WEFT_BZ2 NAMES bz2 REQUIRED) # Debian's has no file for pkg-config
pkg_check_modules(XXHASH REQUIRED libxxhash>=0.8) # only its header: XXH_INLINE_ALL
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka>=1.1) # only for the tests

add_library(weft_dependencies INTERFACE)
# Nothing of OpenSSL that is on its way out.
target_compile_definitions(weft_dependencies INTERFACE
  OPENSSL_API_COMPAT=30000 OPENSSL_NO_DEPRECATED)
target_include_directories(weft_dependencies SYSTEM INTERFACE ${XXHASH_INCLUDE_DIRS} ${OPENSSL_INCLUDE_DIRS})
set(WEFT_ARCHIVES uv_a protobuf-c jansson z zstd lz4 lzma bz2)
if(WEFT_LEAN OR SKBUILD)
  # In a static program the archives themselves are linked; pkg-config would name shared libraries.
  foreach(name IN ITEMS ssl crypto ${WEFT_ARCHIVES})
    find_library(WEFT_STATIC_${name} NAMES lib${name}.a REQUIRED)
  endforeach()
  target_compile_definitions(weft_dependencies INTERFACE WEFT_OPENSSL_LINKED)
endif()
if(WEFT_LEAN)
  foreach(name IN ITEMS uv_a ssl crypto protobuf-c jansson z zstd lz4 lzma bz2)
    target_link_libraries(weft_dependencies INTERFACE ${WEFT_STATIC_${name}})
  endforeach()
  target_link_libraries(weft_dependencies INTERFACE pthread dl rt m)
else()
  add_library(weft_shared_dependencies INTERFACE)
  target_link_libraries(weft_shared_dependencies INTERFACE
    PkgConfig::UV PkgConfig::PROTOBUF_C PkgConfig::JANSSON
    PkgConfig::ZLIB PkgConfig::ZSTD PkgConfig::LZ4 PkgConfig::LZMA ${WEFT_BZ2} dl m)
  if(SKBUILD)
    # In a wheel the command stands alone. The extension module cannot: most archives are not compiled for a shared
    # object. OpenSSL's are, and both have it inside, hidden from the one that Python has.
    target_link_libraries(weft_dependencies INTERFACE ${WEFT_STATIC_ssl} ${WEFT_STATIC_crypto} dl m)
    add_library(weft_archives INTERFACE)
    foreach(name IN LISTS WEFT_ARCHIVES)
      target_link_libraries(weft_archives INTERFACE ${WEFT_STATIC_${name}})
    endforeach()
  else()
    target_link_libraries(weft_dependencies INTERFACE weft_shared_dependencies)
  endif()
endif()

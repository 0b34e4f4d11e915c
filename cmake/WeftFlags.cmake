# Compiler flags that every target of ours shares, as the interface target `weft_flags`.
# Asserts stay on in every build: an invariant that fails in production must stop there too.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g")
set(CMAKE_C_FLAGS_DEBUG "-Og -g3")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE -std=gnu17 -fvisibility=hidden)
target_compile_definitions(weft_flags INTERFACE _GNU_SOURCE)
target_compile_options(weft_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
  $<$<BOOL:${WEFT_WERROR}>:-Werror>)
target_link_options(weft_flags INTERFACE -Wl,--as-needed)

if(WEFT_LEAN)
  target_compile_definitions(weft_flags INTERFACE WEFT_STATIC)
endif()

if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE
    -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID MATCHES "Clang")
    # gcc says by this name that reading beyond an object is watched, clang by none.
    target_compile_definitions(weft_flags INTERFACE __SANITIZE_ADDRESS__=1)
  endif()
endif()

# In a fuzz build all code reports its coverage to libFuzzer; only the fuzzers get its main().
if(WEFT_FUZZ)
  target_compile_options(weft_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(weft_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Files named for an instruction set are compiled for it; the code chooses at run time.
# On other architectures they are empty by #if in the source.
set(WEFT_AVX2_FLAGS -mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt)
set(WEFT_AVX512_FLAGS
  -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vbmi -mavx512vbmi2 -mavx512bitalg
  -mbmi -mbmi2 -mlzcnt -mpopcnt)

# Flags that depend on the name of a source file: instruction sets and generated code.
function(weft_flag_sources)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.pb-c\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-w")
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
      if(source MATCHES "_avx2\\.c$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${WEFT_AVX2_FLAGS}")
      elseif(source MATCHES "_avx512\\.c$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${WEFT_AVX512_FLAGS}")
      endif()
    endif()
  endforeach()
endfunction()

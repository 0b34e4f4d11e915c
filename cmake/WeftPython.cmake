# The Python package: python/weft and the extension module weft._weft of python/src, in build/python, so that
# PYTHONPATH=build/python finds them. Under pip (SKBUILD) it is installed into the wheel, with the command and with the
# shared libraries that another machine may not have.
#
# From Python 3.11 on the module is compiled for the limited API, and one binary serves all later versions.
if(WEFT_LEAN OR WEFT_FUZZ)
  return()
endif()

# Debian's, where it is: the first one in the PATH may be one that a user has built.
if(NOT SKBUILD AND NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
if(NOT Python_Development.Module_FOUND)
  if(SKBUILD)
    message(FATAL_ERROR "the headers of Python are missing\n  try: apt-get install python3-dev")
  endif()
  message(STATUS "no headers of Python: the package for Python is not built (python3-dev)")
  return()
endif()

file(GLOB WEFT_PYTHON_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.c)
add_library(weft_python MODULE ${WEFT_PYTHON_SOURCES})
target_link_libraries(weft_python PRIVATE weft_flags weft_internal weft_shared_dependencies)
# As headers of the system: those of Python do not pass our warnings.
target_include_directories(weft_python SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
target_include_directories(weft_python PRIVATE ${PROJECT_SOURCE_DIR}/python/src)
target_link_options(weft_python PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/python.map)
set(suffix .${Python_SOABI}.so)
if(Python_VERSION VERSION_GREATER_EQUAL 3.11 AND NOT Python_SOABI MATCHES "^cpython-[0-9]+t")
  target_compile_definitions(weft_python PRIVATE Py_LIMITED_API=0x030B0000)
  set(suffix .abi3.so)
endif()
set_target_properties(weft_python PROPERTIES
  PREFIX "" OUTPUT_NAME _weft SUFFIX ${suffix} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/weft
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/python.map)

# The hot path of Python jobs is a module of its own: an interpreter is started for every slot, and this one needs no
# library but Python's.
file(GLOB WEFT_PYTHON_SLOT_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/slot/*.c)
add_library(weft_python_slot MODULE ${WEFT_PYTHON_SLOT_SOURCES})
target_link_libraries(weft_python_slot PRIVATE weft_flags m)
target_include_directories(weft_python_slot SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
# Each word costs several calls of Python's functions: they need no stub.
target_compile_options(weft_python_slot PRIVATE -fno-plt)
target_link_options(weft_python_slot PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/python.map)
if(suffix STREQUAL .abi3.so)
  target_compile_definitions(weft_python_slot PRIVATE Py_LIMITED_API=0x030B0000)
endif()
set_target_properties(weft_python_slot PROPERTIES
  PREFIX "" OUTPUT_NAME _slot SUFFIX ${suffix} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/weft
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/python.map)

# The other files of the package are links: a change of one is there at once.
file(GLOB_RECURSE WEFT_PYTHON_FILES CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python
  ${PROJECT_SOURCE_DIR}/python/weft/*.py ${PROJECT_SOURCE_DIR}/python/weft/*.pyi
  ${PROJECT_SOURCE_DIR}/python/weft/py.typed ${PROJECT_SOURCE_DIR}/python/mincemeat/*.py)
foreach(file IN LISTS WEFT_PYTHON_FILES)
  get_filename_component(folder ${PROJECT_BINARY_DIR}/python/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/${file} ${PROJECT_BINARY_DIR}/python/${file} SYMBOLIC)
endforeach()

if(SKBUILD)
  set_target_properties(weft_python PROPERTIES INSTALL_RPATH "$ORIGIN/libs")
  install(TARGETS weft_python weft_python_slot LIBRARY DESTINATION weft COMPONENT python)
  install(TARGETS weft RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
  install(CODE "
    file(GET_RUNTIME_DEPENDENCIES LIBRARIES \"$<TARGET_FILE:weft_python>\"
      RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
      PRE_EXCLUDE_REGEXES \"^lib(c|m|dl|rt|pthread)\\\\.so\" \"^ld-linux\")
    if(missing)
      message(FATAL_ERROR \"not found: \${missing}\")
    endif()
    file(INSTALL \${found} DESTINATION \"\${CMAKE_INSTALL_PREFIX}/weft/libs\" FOLLOW_SYMLINK_CHAIN)"
    COMPONENT python)
else()
  # Where the installed command looks for it: src/code/python/script.c.
  set(WEFT_PYTHON_PLACE lib/weft/python)
  install(TARGETS weft_python weft_python_slot LIBRARY DESTINATION ${WEFT_PYTHON_PLACE}/weft)
  foreach(file IN LISTS WEFT_PYTHON_FILES)
    get_filename_component(folder ${file} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/python/${file} DESTINATION ${WEFT_PYTHON_PLACE}/${folder})
  endforeach()
endif()

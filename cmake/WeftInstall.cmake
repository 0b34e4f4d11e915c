# `make install`: command, libraries, header, pkg-config file, manual pages, completions.
# The pkg-config file is written when the prefix is known: `cmake --install --prefix` may give another one.
install(CODE "
  set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
  set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
  set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  set(WEFT_UV_PRIVATE \"${WEFT_UV_PRIVATE}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/cmake/weft.pc.in\" \"${PROJECT_BINARY_DIR}/weft.pc\" @ONLY)")

if(TARGET weft)
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET weft_shared)
  install(TARGETS weft_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET weft_static)
  install(FILES ${PROJECT_BINARY_DIR}/libweft.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/include/weft)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

foreach(section IN ITEMS 1 3)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
# `man weft_take` shows the page that describes it.
install(CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/man_aliases\" \"${PROJECT_BINARY_DIR}/man3\"
  COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${PROJECT_BINARY_DIR}/man3/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)

install(FILES ${PROJECT_SOURCE_DIR}/completions/weft.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weft OPTIONAL)
# Debian's zsh looks below /usr in vendor-completions, below /usr/local in site-functions.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_directory vendor-completions)
else()
  set(zsh_directory site-functions)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/completions/_weft
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_directory} OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/completions/weft.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)

# Last: the installed library can be found. With DESTDIR that is the package's business.
install(CODE "
  if(NOT DEFINED ENV{DESTDIR} OR \"\$ENV{DESTDIR}\" STREQUAL \"\")
    execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/cmake/after_install.sh\"
      \"\${CMAKE_INSTALL_PREFIX}\" \"${CMAKE_INSTALL_LIBDIR}\"
      \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/weft.pc\")
  endif()")

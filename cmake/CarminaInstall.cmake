# install(): the library, its headers and the package files that find_package(Carmina) reads; the program.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Carmina)
install(TARGETS carmina EXPORT CarminaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/carmina DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT CarminaTargets NAMESPACE carmina:: DESTINATION ${package_folder} COMPONENT library)
configure_package_config_file(cmake/CarminaConfig.cmake.in CarminaConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(CarminaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/CarminaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/CarminaConfigVersion.cmake
              cmake/CarminaDependencies.cmake
        DESTINATION ${package_folder} COMPONENT library)

if(SKBUILD)
  set(program_folder ${SKBUILD_SCRIPTS_DIR})
else()
  set(program_folder ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET carmina_program)
  install(TARGETS carmina_program RUNTIME DESTINATION ${program_folder} COMPONENT program)
endif()

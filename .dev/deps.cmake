# ni::jansson, ni::verbs, ni::cmocka, and NI_<LIBRARY>_VERSION for `nccl-init --version`.
# NI_DEPS_DIR is set by a musl toolchain file: then they are the archives that .dev/deps built.
# Without it they are the distribution's shared libraries.

function(ni_import name)
    add_library(ni::${name} INTERFACE IMPORTED)
    target_include_directories(ni::${name} SYSTEM INTERFACE ${NI_DEPS_DIR}/include)
    target_link_libraries(ni::${name} INTERFACE ${ARGN})
endfunction()

if(NI_DEPS_DIR)
    if(NOT EXISTS ${NI_DEPS_DIR}/.key)
        message(FATAL_ERROR "The static libraries are missing: run ./dev build (or .dev/deps).")
    endif()
    set(lib ${NI_DEPS_DIR}/lib)
    ni_import(jansson ${lib}/libjansson.a)
    ni_import(cmocka ${lib}/libcmocka.a)
    # Where glibc does not say so, its header takes x86-64 alone for a 64-bit machine.
    target_compile_definitions(ni::cmocka INTERFACE __WORDSIZE=64)
    # Without this definition a static libibverbs has no provider and finds no device.
    set(verbs ${lib}/libibverbs.a ${lib}/libmlx5.a ${lib}/librxe.a ${lib}/libsiw.a)
    list(JOIN verbs "," verbs)
    ni_import(verbs "$<LINK_GROUP:RESCAN,${verbs}>" ${lib}/libnl-3.a)
    target_compile_definitions(ni::verbs INTERFACE RDMA_STATIC_PROVIDERS=mlx5,rxe,siw)

    file(STRINGS .dev/sources lines REGEX "^[a-z]")
    foreach(line IN LISTS lines)
        string(REGEX MATCH "^([^ ]+) +([^ ]+)" _ "${line}")
        string(TOUPPER ${CMAKE_MATCH_1} name)
        string(REPLACE - _ name ${name})
        set(NI_${name}_VERSION ${CMAKE_MATCH_2})
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS .dev/sources)
else()
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    pkg_check_modules(VERBS REQUIRED IMPORTED_TARGET libibverbs)
    pkg_check_modules(LIBNL libnl-3.0)
    add_library(ni::jansson ALIAS PkgConfig::JANSSON)
    add_library(ni::cmocka ALIAS PkgConfig::CMOCKA)
    add_library(ni::verbs ALIAS PkgConfig::VERBS)
    set(NI_JANSSON_VERSION ${JANSSON_VERSION})
    set(NI_LIBNL_VERSION ${LIBNL_VERSION})
    # libibverbs numbers itself 1.<abi>.<rdma-core version>
    string(REGEX REPLACE "^1\\.[0-9]+\\." "" NI_RDMA_CORE_VERSION "${VERBS_VERSION}")
endif()

# Static build with musl for arm64, on another machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(NI_TRIPLE aarch64-linux-musl)
set(NI_DEPS_DIR ${CMAKE_CURRENT_LIST_DIR}/../build/deps/${NI_TRIPLE})
cmake_path(NORMAL_PATH NI_DEPS_DIR)

set(CMAKE_C_COMPILER ${NI_DEPS_DIR}/cc/bin/musl-gcc)
set(NI_TRY_COMPILER aarch64-linux-gnu-gcc) # of the helper, which is dynamic
foreach(tool ar ranlib nm objcopy strip)
    string(TOUPPER ${tool} name)
    find_program(CMAKE_${name} aarch64-linux-gnu-${tool} REQUIRED)
endforeach()
# How its programs run here; ctest uses it for the unit tests.
find_program(NI_EMULATOR qemu-aarch64-static)
if(NI_EMULATOR)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${NI_EMULATOR})
endif()

# As in musl-x86_64.cmake.
set(CMAKE_C_FLAGS_INIT "-isystem ${NI_DEPS_DIR}/kernel -fno-pie")
# norelro: nobody applies it to a static musl program, and it costs up to 64 KiB of padding, the largest page.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -no-pie -Wl,-z,norelro")

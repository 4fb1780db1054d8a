# Static build with musl. Another architecture is a file like musl-aarch64.cmake and a recipe in .dev/deps.
set(NI_TRIPLE x86_64-linux-musl)
set(NI_DEPS_DIR ${CMAKE_CURRENT_LIST_DIR}/../build/deps/${NI_TRIPLE})
cmake_path(NORMAL_PATH NI_DEPS_DIR)

set(CMAKE_C_COMPILER musl-gcc)
# musl-gcc sees no kernel headers; this directory links to the kernel's and to nothing of glibc.
set(CMAKE_C_FLAGS_INIT "-isystem ${NI_DEPS_DIR}/kernel -fno-pie")
# -static-pie would give a dynamic file with musl-gcc.
# norelro: nobody applies it to a static musl program, and its padding makes the file up to a page larger.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -no-pie -Wl,-z,norelro")

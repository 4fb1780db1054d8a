# ni_warnings: what both gcc 12 and clang 14 must be silent about. All are errors.
# -Wswitch-enum: every enumerator is named in a switch, also beside a default.
add_library(ni_warnings INTERFACE)
target_compile_options(ni_warnings INTERFACE
    -Werror
    -Wall
    -Wextra
    -Wpedantic
    -Wno-overlength-strings # help texts; C17 promises only 4095 characters
    -Walloca
    -Wcast-align
    -Wcast-qual
    -Wconversion
    -Wdate-time
    -Wdouble-promotion
    -Wformat=2
    -Wimplicit-fallthrough
    -Winit-self
    -Wmissing-declarations
    -Wmissing-prototypes
    -Wnested-externs
    -Wnull-dereference
    -Wold-style-definition
    -Wpointer-arith
    -Wredundant-decls
    -Wshadow
    -Wstrict-prototypes
    -Wswitch-enum
    -Wundef
    -Wvla
    -Wwrite-strings
)
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(ni_warnings INTERFACE
        -Wduplicated-branches
        -Wduplicated-cond
        -Wformat-signedness
        -Wlogical-op
        -Wstrict-aliasing=2
    )
endif()

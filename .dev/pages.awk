# usage: awk -v out=FILE.c -f pages.awk docs/findings.md
# Makes the pages of `nccl-init explain` from docs/findings.md: a C file with one entry for each heading "## `id`". A
# line of a text is a paragraph, an item of a list, which begins with "- ", or a line of code, which begins with a blank.
# SPDX-License-Identifier: Apache-2.0
function put(line) {
    # [iommu.md](iommu.md#x) is docs/iommu.md
    while (match(line, /\[[^]]*\]\([^)]*\)/)) {
        link = substr(line, RSTART, RLENGTH)
        sub(/^.*\(/, "", link)
        sub(/\)$/, "", link)
        sub(/#.*/, "", link)
        line = substr(line, 1, RSTART - 1) "docs/" link substr(line, RSTART + RLENGTH)
    }
    gsub(/\\/, "&&", line)
    gsub(/"/, "\\\"", line)
    printf "\n     \"%s\\n\"", line >out
}
function end_block() {
    if (block != "") put(block)
    block = ""
}
function end_page() {
    end_block()
    if (open) print "}," >out
}
BEGIN {
    print "/* Made from docs/findings.md by .dev/pages.awk. */" >out
    print "#include \"doctor/explain.h\"\n" >out
    print "const struct ni_page ni_pages[] = {" >out
}
/^## `/ {
    end_page()
    open = 1
    blank = 0
    id = $2
    gsub(/`/, "", id)
    printf "    {\"%s\",", id >out
    next
}
!open || /^Severity: / { next }
/^$/ {
    end_block()
    blank = 1
    next
}
{
    # a blank line between two blocks, and none before the first
    if (blank && begun[id]) put("")
    blank = 0
    begun[id] = 1
}
/^    / {
    end_block()
    put($0)
    next
}
/^- / { end_block() }
{
    sub(/^ +/, "")
    block = block (block == "" ? "" : " ") $0
}
END {
    end_page()
    print "};" >out
    print "const unsigned ni_n_pages = sizeof(ni_pages) / sizeof(ni_pages[0]);" >out
}

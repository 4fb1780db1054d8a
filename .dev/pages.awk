# usage: LC_ALL=C awk -v out=FILE.c -f pages.awk docs/reference/findings.md
# Makes the pages of `nccl-init explain` from docs/reference/findings.md: a C file with one entry for each heading
# "## `id`". A line of a text is a paragraph, an item of a list, which begins with "- ", or a line of code, which begins
# with a blank.
# SPDX-License-Identifier: Apache-2.0
function put(line) {
    # [iommu.md](iommu.md#x) is docs/guides/iommu.md
    while (match(line, /\[[^]]*\]\([^)]*\)/)) {
        link = substr(line, RSTART, RLENGTH)
        sub(/^.*\(/, "", link)
        sub(/\)$/, "", link)
        sub(/#.*/, "", link)
        if (!sub(/^\.\.\//, "docs/", link)) link = "docs/reference/" link
        line = substr(line, 1, RSTART - 1) link substr(line, RSTART + RLENGTH)
    }
    gsub(/["\\]/, "\\\\&", line)
    print "     \"" line "\\n\"" >out
    n_lines++
}
function end_block() {
    if (block != "") put(block)
    block = ""
}
function end_page() {
    end_block()
    if (n_pages > 0) print "    }," >out
}
BEGIN {
    print "/* Made from docs/reference/findings.md by .dev/pages.awk. */" >out
    print "#include \"findings/pages.h\"\n" >out
    print "const struct ni_page ni_pages[] = {" >out
}
/^## `/ {
    end_page()
    id = $2
    gsub(/`/, "", id)
    print "    {\"" id "\"," >out
    n_pages++
    n_lines = 0
    blank = 0
    next
}
n_pages == 0 || /^Severity: / { next }
/^$/ {
    end_block()
    blank = 1
    next
}
{
    # a blank line between two blocks, and none before the first
    if (blank && n_lines > 0) put("")
    blank = 0
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
    print "};\nconst unsigned ni_n_pages = sizeof(ni_pages) / sizeof(ni_pages[0]);" >out
}

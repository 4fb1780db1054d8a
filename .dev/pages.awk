# usage: LC_ALL=C awk -v out=FILE.c -v table=NAME -v head='## `' -f pages.awk docs/FOLDER/PAGE.md
# Makes pages of `nccl-init explain`: a C file with one entry for each heading that begins with `head`. A line of a text is
# a paragraph, an item of a list, which begins with "- ", or a line of code or of a table, which begins with a blank.
# SPDX-License-Identifier: Apache-2.0
function put(line) {
    # [iommu.md](iommu.md#x) is docs/guides/iommu.md
    while (match(line, /\[[^]]*\]\([^)]*\)/)) {
        link = substr(line, RSTART, RLENGTH)
        sub(/^.*\(/, "", link)
        sub(/\)$/, "", link)
        sub(/#.*/, "", link)
        if (link == "") link = FILENAME
        else if (!sub(/^\.\.\//, "docs/", link)) link = folder link
        sub(/^.*\/docs\//, "docs/", link)
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
    if (in_page) print "    }," >out
    in_page = code = 0
}
BEGIN {
    folder = ARGV[1]
    sub(/^.*docs\//, "docs/", folder)
    sub(/[^\/]*$/, "", folder)
    print "/* Made from " folder " by .dev/pages.awk. */" >out
    print "#include \"findings/pages.h\"\n" >out
    print "static const struct ni_page pages[] = {" >out
}
index($0, head) == 1 {
    end_page()
    id = substr($0, length(head) + 1)
    sub(/`$/, "", id)
    gsub(/["\\]/, "\\\\&", id)
    print "    {\"" id "\"," >out
    in_page = 1
    n_lines = 0
    blank = 0
    next
}
/^## / { end_page() }
!in_page || /^Severity: / { next }
/^```/ {
    end_block()
    code = !code
    next
}
/^$/ && !code {
    end_block()
    blank = 1
    next
}
{
    # a blank line between two blocks, and none before the first
    if (blank && n_lines > 0) put("")
    blank = 0
}
/^    / || /^\|/ || code {
    end_block()
    put(code || /^\|/ ? "    " $0 : $0)
    next
}
/^- / { end_block() }
{
    sub(/^( +|### )/, "")
    block = block (block == "" ? "" : " ") $0
}
END {
    end_page()
    print "};\nconst struct ni_pages " table " = {pages, sizeof(pages) / sizeof(pages[0])};" >out
}

# usage: LC_ALL=C awk -v out=FILE.c -v table=NAME -v head='## `' -f pages.awk docs/FOLDER/PAGE.md
# Makes pages of `nccl-init explain`: a C file with one entry for each heading that begins with `head`. A line of a text is
# a paragraph, an item of a list, which begins with "- " or a number, or a line of code, which begins with a blank. A table of
# two columns becomes a list, "- WHAT: WHAT TO DO"; another one stays as it is.
# SPDX-License-Identifier: Apache-2.0
function put(line) {
    # [iommu.md](iommu.md#x) is docs/guides/iommu.md; [what to do](#x) keeps its words
    while (match(line, /\[[^]]*\]\([^)]*\)/)) {
        words = link = substr(line, RSTART, RLENGTH)
        sub(/\]\(.*$/, "", words)
        words = substr(words, 2)
        sub(/^.*\(/, "", link)
        sub(/\)$/, "", link)
        part = link
        if (!sub(/^[^#]*#/, "", part)) part = ""
        sub(/#.*/, "", link)
        if (link ~ /^https?:/) words = ""
        else if (link == "") link = FILENAME
        else if (!sub(/^\.\.\/\.\.\//, "", link) && !sub(/^\.\.\//, "docs/", link)) link = folder link
        sub(/^.*\/docs\//, "docs/", link)
        if (words != "" && words !~ /\.md$/) {
            # in brackets already?
            before = substr(line, 1, RSTART - 1)
            link = before ~ /\([^)]*$/ ? words ": " link : words " (" link (part != "" ? "#" part : "") ")"
        }
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
    in_page = code = row = 0
}
# A row of a table of two columns, as an item; the first two rows are its head.
function put_row(text,    cell, n) {
    gsub(/\\\|/, "\001", text)
    sub(/^\| */, "", text)
    sub(/ *\|$/, "", text)
    n = split(text, cell, / *\| */)
    gsub(/\001/, "\\|", text)
    gsub(/\001/, "|", cell[1])
    gsub(/\001/, "|", cell[2])
    if (++row == 1) wide = n > 2
    if (wide) put("    | " text " |")
    else if (row > 2) put("- " cell[1] (cell[1] == "" ? "" : ": ") cell[2])
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
/^ *```/ {
    end_block()
    code = !code
    indent = match($0, /[^ ]/) - 1
    next
}
!/^\|/ { row = 0 }
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
/^\|/ && !code {
    end_block()
    put_row($0)
    next
}
/^    / || code {
    end_block()
    put(code ? "    " substr($0, indent + 1) : $0)
    next
}
/^- / || /^[1-9]\. / { end_block() }
{
    sub(/^( +|### )/, "")
    block = block (block == "" ? "" : " ") $0
}
END {
    end_page()
    print "};\nconst struct ni_pages " table " = {pages, sizeof(pages) / sizeof(pages[0])};" >out
}

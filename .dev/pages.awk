# usage: LC_ALL=C awk -v out=FILE.c -f pages.awk docs/reference/findings.md
# Makes the pages of `nccl-init explain` from docs/reference/findings.md: a C file with one entry for each heading
# "## `id`". A line of a text is a paragraph, an item of a list, which begins with "- ", or a line of code, which begins
# with a blank.
#
# The texts are packed by byte pair encoding, to less than 60 % of their length: a byte that no text has, from 128 on or a
# control character, stands for two bytes. The pair that occurs most often within the words gets the next one, until there
# is none left.
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
    add_words(line)
    add_word("\n")
}
# The words of a line, each with the blank before it, in the order of the text.
function add_words(line) {
    while (line != "") {
        if (!match(line, /^ ?[^ ]+/)) match(line, /^ +/)
        add_word(substr(line, 1, RLENGTH))
        line = substr(line, RLENGTH + 1)
    }
}
function add_word(word) {
    if (!(word in number)) {
        number[word] = ++n_words
        packed[n_words] = word
    }
    times[number[word]]++
    text[++n_text] = number[word]
}
function end_block() {
    if (block != "") put(block)
    block = ""
}
# The pair of bytes that occurs most often; of several the one that sorts first.
function most_often_pair(    i, k, n, pair, best, count) {
    for (i = 1; i <= n_words; i++) {
        n = length(packed[i])
        for (k = 1; k < n; k++) count[substr(packed[i], k, 2)] += times[i]
    }
    best = ""
    for (pair in count)
        if (best == "" || count[pair] > count[best] || (count[pair] == count[best] && pair < best)) best = pair
    return best
}
function replace_pair(pair, byte,    i, at, rest, done) {
    for (i = 1; i <= n_words; i++) {
        rest = packed[i]
        done = ""
        while ((at = index(rest, pair)) > 0) {
            done = done substr(rest, 1, at - 1) byte
            rest = substr(rest, at + 2)
        }
        packed[i] = done rest
    }
}
function in_c(bytes,    i, byte, all) {
    all = ""
    for (i = 1; i <= length(bytes); i++) {
        byte = substr(bytes, i, 1)
        if (ordinal[byte] < 32 || ordinal[byte] > 126 || byte ~ /["\\?]/) byte = sprintf("\\%03o", ordinal[byte])
        all = all byte
    }
    return all
}
BEGIN {
    for (i = 128; i < 256; i++) codes[++n_codes] = i
    for (i = 1; i < 32; i++)
        if (i != 10) codes[++n_codes] = i # not the newline
    for (i = 1; i < 256; i++) ordinal[sprintf("%c", i)] = i
}
/^## `/ {
    end_block()
    id = $2
    gsub(/`/, "", id)
    ids[++n_pages] = id
    first[n_pages] = n_text + 1
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
    if (blank && n_text >= first[n_pages]) add_word("\n")
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
    end_block()
    first[n_pages + 1] = n_text + 1
    print "/* Made from docs/reference/findings.md by .dev/pages.awk. */" >out
    print "#include \"doctor/explain.h\"\n" >out
    print "const unsigned char ni_page_pairs[NI_PAGE_CODES][2] = {" >out
    for (i = 1; i <= n_codes; i++) {
        pair = most_often_pair()
        replace_pair(pair, sprintf("%c", codes[i]))
        printf "    [NI_PAGE_CODE(%d)] = {%d, %d},\n", codes[i], ordinal[substr(pair, 1, 1)], ordinal[substr(pair, 2, 1)] >out
    }
    print "};\nconst struct ni_page ni_pages[] = {" >out
    for (p = 1; p <= n_pages; p++) {
        printf "    {\"%s\",\n     \"", ids[p] >out
        width = 0
        for (i = first[p]; i < first[p + 1]; i++) {
            word = in_c(packed[text[i]])
            if (width + length(word) > 100) {
                printf "\"\n     \"" >out
                width = 0
            }
            width += length(word)
            printf "%s", word >out
        }
        print "\"}," >out
    }
    print "};\nconst unsigned ni_n_pages = sizeof(ni_pages) / sizeof(ni_pages[0]);" >out
}

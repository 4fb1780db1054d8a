#!/bin/sh
# Plain code as .dev/plain wants it: it refuses a broken twin of each rule, at its line, and nothing else.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
cd "$(dirname -- "$0")/../.." || exit
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
command -v clang >/dev/null || skip_all "clang is not installed"
[ -x /usr/bin/python3 ] || skip_all "python3 is not installed"

cat >"$dir/head" <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#define BIGGER(a, b) ((a) > (b) ? (a) : (b))
#define TEXT(cap) text_on((char[cap]){""}, cap)
struct part { int size; int (*act)(int); };
struct text { char *buf; size_t cap; };
extern struct text text_on(char *, size_t);
extern struct part *chosen;
extern int one(int), two(int);
extern int use(int, ...);
extern int n, m, k, list[8];
extern char *p, *q;
extern struct part left, right;
int twin(int argc);
int twin(int argc)
{
END

# judged NAME CODE: the words about a function of this code; each line's number is counted from the code's first
judged() {
    { cat "$dir/head" && printf '%s\n' "$2" && echo '}'; } >"$dir/twin.c"
    .dev/plain "$dir/twin.c" 2>&1 | awk -v file="$dir/twin.c:" -v head="$(wc -l <"$dir/head")" '
        index($0, file) == 1 {
            rest = substr($0, length(file) + 1)
            line = rest + 0
            sub(/^[0-9]+/, "", rest)
            print line - head rest
            next
        }
        { print }'
}

refused() { # NAME CODE LINE-AND-KIND...: one word for each finding, as 2:comma
    name=$1 code=$2
    shift 2
    same "$name" "$*" "$(judged "$name" "$code" | sed 's/^\([0-9]*\): \([a-z]*\): .*/\1:\2/' | tr '\n' ' ' | sed 's/ $//')"
}

plain() { # NAME CODE
    same "$1" "" "$(judged "$1" "$2")"
}

# 1. assignments
refused "an assignment in an if" 'if ((n = one(1)) > 0) use(n);
return 0;' 1:assignment
refused "in an else if" 'if (m) use(m);
else if (!(p = q)) use(1);
return 0;' 2:assignment
refused "in a while" 'while ((n = one(1)) > 0) use(n);
return 0;' 1:assignment
refused "in a do" 'do use(1);
while ((n = one(1)));
return 0;' 2:assignment
refused "in the condition of a for" 'for (; (p = strchr(q, 1)); p++) use(1);
return 0;' 1:assignment
refused "in a switch" 'switch (n = one(1)) { default: return 0; }' 1:assignment
refused "in the condition of a ?:" 'return (n = one(1)) ? 1 : 0;' 1:assignment
refused "after an &&" 'm && (n = one(1));
return 0;' 1:assignment
refused "in an argument" 'use(1,
n = 2);
return 0;' 2:assignment
refused "in an initialiser" 'int first = 1, second = first += 2;

return second;' 1:assignment
refused "in an initialiser of a struct" 'struct part it = {.size = n = 2};

return it.size;' 1:assignment
refused "in a return" 'return n = 2;' 1:assignment
refused "in an index" 'list[n = 1] = 2;
return 0;' 1:assignment
refused "in a compound assignment" 'n += m = 2;
return 0;' 1:assignment
refused "in the sum that is assigned" 'n = 2 + (m = 2);
return 0;' 1:assignment
refused "++ in a condition" 'if (n++ > 2) use(1);
return 0;' 1:assignment
refused "-- in a condition" 'while (--n > 2) use(1);
return 0;' 1:assignment
refused "-- after the value in a while" 'while (n-- > 2) use(1);
return 0;' 1:assignment
refused "++ in an argument" 'use(n++);
return 0;' 1:assignment
refused "++ in an initialiser" 'int at = n++;

return at;' 1:assignment
refused "++ in what is added to an index" 'list[n++ + 1] = 2;
return 0;' 1:assignment
plain "assignments that are statements" 'n = 1;
n += 2;
n++;
--m;
(void)(n = 2);
for (n = 0, m = 1; n < 2; n++, m += 2) use(n == m);
if (n == m) n = 3;
else m = 4;
switch (n) { case 1: n = 2; break; default: m = 2; }
return n;'
plain "one value for two" 'n = m = k = 0;
return 0;'
plain "++ that moves on" 'list[n++] = 1;
*p++ = *q++;
return p[m--];'
plain "a for that counts down" 'for (n = 8; n-- > 0;) use(n);
return 0;'

# 2. choices
refused "a ?: in the else of a ?:" 'return n ? 1 :
m ? 2 : 3;' 2:nested
refused "in the then" 'return n ? (m ? 1 : 2) : 3;' 1:nested
refused "in the condition" 'return (n ? m : k) ? 1 : 3;' 1:nested
refused "in an argument within a ?:" 'return n ? one(m ? 1 : 2) : 3;' 1:nested
refused "without the middle" 'return n ? 1 : m ?: 2;' 1:nested
refused "a ?: that chooses what is called" 'return (n ? one : two)(1);' 1:choice 1:choice
refused "a ?: that chooses whose function is called" 'return (n ? &left : &right)->act(1);' 1:choice
refused "a ?: between functions" 'int (*act)(int) = n ? one : two;

return act(1);' 1:choice
refused "a ?: that chooses a target" '*(n ? &m : &k) = 1;
return 0;' 1:choice
refused "a member of it" '(n ? &left : &right)->size += 1;
return 0;' 1:choice
refused "an element of it" '(n ? p : q)[2]++;
return 0;' 1:choice
refused "a ?: for what it does" 'n ? one(1) : two(2);
(void)(m ? one(1) : two(2));
return 0;' 1:choice 2:choice
plain "a ?: between values" 'int most = n > m ? n : m;
int (*act)(int) = n ? one : NULL;

use(n ? 1 : 2, m ? 3 : 4);
p = n ? p : q;
return most + (n ? left : right).size + (n ? p : q)[1] + (act != NULL);'
plain "a macro of ours with a ?: in a ?:" 'return n ? BIGGER(m, k) : 0;'
refused "a ?: in the argument of a macro" 'return n ? BIGGER((m ? 1 : 2), 1) : 0;' 1:nested

# 3. commas
refused "a comma in a return" 'return use(1), 2;' 1:comma
refused "a comma between statements" 'n = 1, m = 2;
return 0;' 1:comma
refused "a comma in a condition" 'for (n = 0; use(1), n < 2; n++) use(2);
return 0;' 1:comma
refused "a comma in the body of a for" 'for (n = 0; n < 2; n++)
use(1), use(2);
return 0;' 2:comma
plain "commas that are no operators" 'int a = 1, b = 2;
int c[] = {1, 2};

for (n = 0, m = 1, k = 2; n < 2; n++, m++, k++) use(a, b, c);
return 0;'

# 4. memory of a block
refused "a text of a block, assigned" 'struct text why = TEXT(16);

if (n) why = TEXT(16);
return why.buf[0];' 3:memory
refused "in the init of a for" 'struct text why;

for (why = TEXT(16); n; n--) use(1);
return why.buf[0];' 3:memory
refused "an array, an address" 'if (n) p = (char[8]){"a"};
if (m) chosen = &(struct part){1, one};
if (k) q = strchr((char[]){"a"}, 97);
return *p;' 1:memory 2:memory 3:memory
plain "a text where it is declared" 'struct text why = TEXT(16), other = TEXT(8);

while (n) {
struct text line = TEXT(16);

use(1, &line);
}
return why.buf[0] + other.buf[0];'
plain "a literal that is copied, or for a call" 'left = (struct part){1, one};
n = (int)strlen((char[]){"a"});
use(1, &(struct part){1, one}, (char[]){"a"});
return n;'

# 5. blank lines
refused "no blank line in a function" 'int a = 1;
int b = 2;
return a + b;' 2:blank
refused "in an inner block" 'if (n) {
int a = 1;
use(a);
}
return 0;' 2:blank
refused "in the block of a case" 'switch (n) {
case 1: {
int a = one(1);
return a;
}
default: return 0;
}' 3:blank
refused "after a declaration of many lines" 'int a =
1 +
2;
return a;' 3:blank
refused "only a comment" 'int a = 1;
/* it is returned */
return a;' 1:blank
refused "after a static_assert" 'int a = 1;
_Static_assert(sizeof(int) == 4, "");
return a;' 2:blank
plain "a blank line" 'int a = 1;

return a;'
plain "a blank line, then a comment" 'int a = 1; /* one, which
is a number */

/* it is returned */
return a;'
plain "declarations alone" 'if (n) {
int a = 1;
}
return 0;'
plain "a for that declares" 'for (int i = 0; i < 2; i++)
use(i);
return 0;'
plain "a declaration between statements" 'use(1);
int a = 1;
use(a);
return a;'

# what the system's macros do is not ours
plain "macros of the system" 'struct msghdr msg = {0};
struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
int how = WIFEXITED(n) ? WEXITSTATUS(n) : 0;

c = n ? CMSG_NXTHDR(&msg, c) : NULL;
return how + (c ? 1 : 0);'
refused "an assignment before a macro of the system" 'use(p = NULL);
return 0;' 1:assignment

# a tree: its headers, its flags, its mistakes
mkdir -p "$dir/tree/.dev" "$dir/tree/src/room" "$dir/tree/include" "$dir/tree/build/dev-clang" "$dir/none"
cp .dev/plain "$dir/tree/.dev"
echo 'static inline int half(int n) { int h = NEEDED; return n = h; }' >"$dir/tree/include/half.h"
printf '#include "half.h"\nint twice(int n);\nint twice(int n) { return half(n), 2; }\n' >"$dir/tree/src/room/twice.c"
tree() { # NAME STATUS PATTERN
    out=$("$dir/tree/.dev/plain" 2>&1) && status=0 || status=$?
    same "$1: status" "$2" "$status"
    matches "$1" "$3" "$out"
}
tree "a tree that is not configured" 77 "skipped: there is no *compile_commands.json*"
cat >"$dir/tree/build/dev-clang/compile_commands.json" <<END
[{"directory": "$dir/tree", "file": "$dir/tree/src/room/twice.c",
  "command": "clang -DNEEDED=2 -I$dir/tree/include -fsanitize=address -o x.o -c $dir/tree/src/room/twice.c"}]
END
tree "a source and its header" 1 "include/half.h:1: assignment: *
src/room/twice.c:3: comma: *"
echo 'int lost;' >"$dir/tree/src/lost.c"
tree "a source that is not built" 2 "src/lost.c: dev-clang does not compile it"
rm "$dir/tree/src/lost.c"
echo 'int wrong' >"$dir/tree/src/room/twice.c"
tree "a source with an error" 2 "*twice.c: clang does not compile it*expected ';'*"
same "without clang" "skipped: clang is not installed" "$(PATH=$dir/none /usr/bin/python3 .dev/plain)"
finish

"""
Patterns and texts on which we and ``java.util.regex`` must agree.

Chosen so that every construct of Java's syntax is met, and every way to get it wrong.
"""

# ruff: noqa: RUF001  # letters that look like others are the point

from __future__ import annotations

from typing import Final

_BY_TWO_BLANKS: Final = r"""
a  a|b  a||b  |  (a|)b  a*  a+?b  a*+a  (?>a|ab)c  a{2}  a{1,2}+b  a{2,}  a{2}{2}  {2}a  a{,2}
a{2  a{x}  a{2,1}  *  a**  a+*  a???  {  }  ]  a]  ^*a  $*  (?=a)*a  (a)(b)\2  (a)\1  \1(a)
(a)\2  (a)\11  \0  \07  \077  \0377  \0777  \08  \x41  \x{41}  \x{1F600}  \x4  \x{}  \x{110000}
\x{41  \u0061  \u061  \uD83D\uDE00  [\uD83D\uDE00]  \cA  \c  \c@  \a  \e  \f\n\r\t  \q  \_  \é
\  \8  \N{LATIN SMALL LETTER A}  \N{NOPE}  \Na  \N{  \Qa.b\E  \Qa.b  \Qab\E+  \E  [\Q^]\E]
\Qa\Eb\Qc\E  a\\Qb  \x4\Q1\E  \Q1\E  (?x)\Q \E  [\Qa-c\E]  \Q\\E  \Q\E*  x\Q\E*  [abc]  [^abc]
[a-c]  [a-]  [-a]  []a]  [^]a]  []  [  [a  [a-  [c-a]  [a-[b]]  [a[b]]  [a[^b]]  [^a[b]]
[^a[^b]]  [a&&b]  [a-z&&[^b]]  [a-z&&^b]  [&&a]  [&&]  [a&b]  [a&&&b]  [a&&&&b]  [^a&&b]
[^a-c&&b-d]  [a-c&&[b]c]  [a-c&&[b]&&[b]]  [ab&&bc&&c]  [a&&[b]  [a&&b  [!-&&a]
[a-&&b]  [\d\w]  [^\d]  [\D]  [a-\d]  [\w-a]  [\]]  [\[]  [\b]  [\A]  [\1]  [\v]  [\v-\r]  [\h]
[\H]  [\R]  [\x41-\x43]  [\07]  [a\-c]  [\p{L}]  [^\p{L}]  [\P{L}]  [\pL]  [a-\pL]
[\N{LATIN SMALL LETTER A}]  [\Ea]  \d  \D  \w+  \W  \s  \S  \h  \H  \v  \V  \R  \R+  \X  \bab\b
a\b  a\B  \B  \Aa\z  \Aa\Z  \Ga  a\G  a$  ^a  a$\n  a$\s*  (?m)^a  (?m)a$  (?m)a$\s*^b
(?m)^  (?d)a.b  (?d)a$\s  (?dm)a$  (?dm)^b  (?s).  (?s)a.b  .  .*  a.b  (?m)$  (?d)\Z  a\Z
\r\Z\n  (?i)a  (?i)A  a(?i)b  a|(?i)b|c  (?i:a)b  (a(?i)b)c  (?i)[a-c]  (?i)[^a]  (?i)k  (?iu)k
(?iu)[k]  (?iu)ß  (?iu)é  (?i)é  (?i)[é]  (?u)é  (?iu)[^k]  (?iu)[à-ö]  (?i)\x41  (?i)(a)\1
(?i-i)A  (?-i)a  (?i)(?-i:a)  (?im-s)a  (?z)a  (?i  (?  (?i)\p{Lower}  (?i)\p{Upper}  (?i)\p{Lu}
(?i)\p{javaLowerCase}  (?i)[\p{Lower}]  (?iu)\p{Lower}  (?iU)\p{Lower}  (?i)\p{IsLowercase}
(?i)\p{IsLu}  (?i)\P{Lu}  (?iu)s  (?iu)ı  (?iu)I  (?iu)Σ  (?i)[A-z]  (?i)[Z-a]  (?i)[@-[]
(?iu)\u212a  (?x)[a b]  (?x)[ ^a]  (?x)a {2}  (?x)a { 2 }  (?x)( ?:a)  (?x)(? :a)  (?x)a + +
(?x)\ a  (?x)#a  (?x)\x 41  (?x) (?-x) a  (?U)\d  (?U)\w  (?U)\s  (?U)\bé  (?U)\p{Alpha}
(?U)\p{Punct}  (?U)\p{Graph}  (?U)\p{Print}  (?U)\p{Blank}  (?U)\p{XDigit}  (?U)\p{Space}
(?U)\p{alpha}  (?-U)\d  (?U-U)(?i)É  (?c)a  (?:a  (a  a)  (?=a)a  (?!a).  (?<=a)b  a(?<=a)b
(?<!a)b  a(?<=a{1,3})b  ab(?<=a|ab)  (a)b(?<=\1b)  a(?<=(?=a*)a)b
(?<n>a)\k<n>  \k<n>(?<n>a)  (?<n>a)(?<n>b)  (?<1>a)  (?<n  (?<n1>a)\1  \kn  (?<>a)  (?P<n>a)
(?#a)b  (?$a)  (?@a)  (?<a  (?<=a  (?>a  (?'n'a)  (?|a)  (?R)  (?i)*  \p{Lower}  \p{Upper}
\p{ASCII}  \p{Alpha}  \p{Digit}  \p{Alnum}  \p{Punct}  \p{Graph}  \p{Print}  \p{Blank}
\p{Cntrl}  \p{XDigit}  \p{Space}  \p{L1}  \p{all}  \p{L}  \p{Lu}  \p{lu}  \p{LC}  \p{LD}  \p{N}
\p{Nl}  \p{P}  \p{S}  \p{Sc}  \p{Z}  \p{Cn}  \p{C}  \p{IsL}  \p{IsLatin}  \p{Islatin}
\p{IsAlphabetic}  \p{Isalphabetic}  \p{IsAlpha}  \p{IsLower}  \p{IsWhite_Space}
\p{IsWhiteSpace}  \p{IsPunctuation}  \p{IsControl}  \p{IsHexDigit}  \p{IsPunct}  \p{IsSpace}
\p{IsXDigit}  \p{IsLetter}  \p{IsTitlecase}  \p{IsAssigned}  \p{IsDigit}  \p{IsWord}
\p{IsGraph}  \p{IsNope}  \p{IsJoin_Control}  \p{IsIdeographic}  \p{IsNoncharacter_Code_Point}
\p{IsPrint}  \p{javaLowerCase}  \p{javaUpperCase}  \p{javaAlphabetic}  \p{javaIdeographic}
\p{javaTitleCase}  \p{javaDigit}  \p{javaDefined}  \p{javaLetter}  \p{javaLetterOrDigit}
\p{javaSpaceChar}  \p{javaNope}  \p{javaJavaIdentifierStart}  \p{javaJavaIdentifierPart}
\p{javaWhitespace}  \p{javaMirrored}  \p{javaUnicodeIdentifierStart}
\p{javaUnicodeIdentifierPart}  \p{javaISOControl}  \p{javaIdentifierIgnorable}  \p{InBasicLatin}
\p{InBasic Latin}  \p{InGreek}  \p{In}  \p{script=Latin}  \p{sc=Grek}  \p{blk=BasicLatin}
\p{gc=Lu}  \p{GC=Lu}  \p{x=y}  \p{general_category=L}  \p{block=Latin-1 Supplement}  \p{script=}
\p{Is}  \p{}  \p{  \pL  \PL  \p  \pX  \P{L}+  \p{L  \p{Nope}  \p{^L}  \p{L}{2}  \p{alpha}
(a\1?)
"""

_LINES: Final = _BY_TWO_BLANKS.strip("\n").split("\n")
PATTERNS: Final = (
    "",
    *dict.fromkeys(pattern for line in _LINES for pattern in line.split("  ")),
    "(?x) a b ",
    "(?x)a # b\nb",
    "(?x)a \\  b",
    "(?x)[a#b\n]",
)

UNSUPPORTED: Final = ("\\b{g}a", "[a&&]", "[a&&[b]&c]", "a(?<=a*)b", "a(?<=a+)b")
"""Patterns that Java takes and that we reject: better than to misread them."""

_BY_BLANKS: Final = r"""
a A b c ab aB ba abc aa aab abab a.b a-b a_b topic1 Topic-1 __consumer_offsets
mm2-offsets.A.internal x.replica 1 42 # & && [ ] ^ $ { } \ a{2} - * ss K k _ ~
"""

TEXTS: Final = (
    "",
    *_BY_BLANKS.split(),
    *(" ", "\t", "\n", "\r\n", "\r", "a\n", "a\r\n", "\na"),
    *("a\nb", "\x0b", "\x85", "a\u2028", "\xa0", "\x00", "\x07", "\x1b"),
    *("\xe9", "\xc9", "\xdf", "\u017f", "\u212a", "\u0130", "\u0131", "\u03a3"),
    *("\u03c3", "\u03c2", "\xe4", "\xc4", "\u0663", "\u4e2d", "\U0001f600", "a\xe9"),
    *("a 1", "e\u0301", "\u200d", "\u01c5", "\u2167", "\u20ac", "\x7f"),
)

_SOME_TOKENS: Final = r"""
&& [^ (?: (?i) (?x) (?= (?<! (?i: (?s) (?m) (?u) (?iu) (?-i) (a) (?> {2} {1,} a-c \Q \E \d \W
\p{L} \P{Lower} \b \1 \x41 \R \v \h \Z \. \-
"""
TOKENS: Final = (*"abAk1é[]^-&(){}|*+?.$\\#, \n", *_SOME_TOKENS.split())
"""What patterns are made of at random."""

_SOME_SET_TOKENS: Final = r"a b c A k - ^ & [ ] && [^ a-c \d \] \w [b-d] &&["
SET_TOKENS: Final = tuple(_SOME_SET_TOKENS.split())
"""What sets are made of at random."""

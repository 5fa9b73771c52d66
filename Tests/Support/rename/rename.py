#!/usr/bin/env python3
"""Renames identifiers, files and folders of Reprise by the table beside it (rename.tsv).

    Tests/Support/rename/rename.py TREE [--dry-run]

Idempotent. TREE is a git work tree; files move by `git mv`. It ends with what it could not decide.
"""
import os, re, subprocess, sys, collections
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from swlex import lex

HERE = os.path.dirname(os.path.abspath(__file__))
args = [a for a in sys.argv[1:] if not a.startswith("--")]
DRY = "--dry-run" in sys.argv
ROOT = os.path.abspath(args[0] if args else ".")
BASES = ("Sources", "Tests", "Examples", "Benchmarks", "Lab")
WORD = re.compile(r"`?[A-Za-z_]\w*`?")
undecided, notes = [], []

# ---- the table
ids, scoped, moves, texts, lefts = {}, collections.defaultdict(list), [], [], []
tops = set()  # top-level types that stood twice: never after a dot, but after their module's name
for n, line in enumerate(open(os.path.join(HERE, "rename.tsv")), 1):
    line = line.rstrip("\n")
    if not line.strip() or line.startswith("#"):
        continue
    kind, *cells = line.split("\t")
    if kind in ("id", "top"):  # id old new [scope,scope,!excluded]
        old, new = cells[:2]
        if kind == "top": tops.add((old, new))
        if len(cells) > 2 and cells[2]:
            scoped[old].append((new, cells[2].split(",")))
        else:
            assert old not in ids, f"line {n}: {old} twice"
            ids[old] = new
    elif kind == "move":  # move folder new-folder
        moves.append(tuple(cells))
    elif kind == "text":  # text glob-prefix regex replacement: a hand-made step
        texts.append((cells[0], re.compile(cells[1], re.M), cells[2]))
    elif kind == "left":  # left word reason: stays, and why
        lefts.append(tuple(cells))
    else:
        sys.exit(f"line {n}: {kind}?")

def applies(path, scopes):
    plus = [s for s in scopes if not s.startswith("!")]
    minus = [s[1:] for s in scopes if s.startswith("!")]
    return (not plus or any(path.startswith(s) for s in plus)) and not any(
        path.startswith(s) for s in minus)

def table(path):
    t = dict(ids)
    for old, rules in scoped.items():
        for new, scopes in rules:
            if applies(path, scopes):
                t[old] = new
                break
    return {o: n for o, n in t.items() if n != "="}

MODULE = re.compile(r"\b(Reprise\w*)\.$")
def swap(text, t):
    def one(m):
        w = m[0]
        bare = w.strip("`")
        new = t.get(bare)
        before = text[max(0, m.start() - 40): m.start()]
        if bare in scoped and before.endswith("."):
            module = MODULE.search(before)
            if module: new = table(f"Sources/{module[1]}/").get(bare, bare)
            elif (bare, new) in tops: new = None
        return w if new is None else w.replace(bare, new)
    return WORD.sub(one, text)

HUMPS = re.compile(r"\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+\w*\b")
SPAN = re.compile(r"(`+)([^`\n]+?)\1(?!`)")
CODEISH = re.compile(r"[.(:/<]|``")
def prose(text, t):
    """Comments and Markdown: code spans, and type names of two humps anywhere."""
    def span(m):
        inner = m[2]
        if m[1] == "``" or re.fullmatch(r"[A-Z]\w*", inner):
            return m[1] + swap(inner, t) + m[1]
        def word(w):
            bare = w[0]
            new = t.get(bare)
            if new is None: return bare
            before = inner[w.start() - 1: w.start()]; after = inner[w.end(): w.end() + 1]
            if bare[0].isupper() or before == "." or after in ("(", ".") and before not in ("-", "/", "_"):
                return new
            return bare
        return m[1] + re.sub(r"(?<![\w-])[A-Za-z_]\w*(?![\w-])", word, inner) + m[1]
    text = SPAN.sub(span, text)
    return HUMPS.sub(lambda m: t.get(m[0], m[0]), text)

FENCE = re.compile(r"(?ms)^(\s*(?://[/!]? ?)?)```(\w*)[ \t]*\n(.*?)^\s*(?://[/!]? ?)?```")
def swift(s, t):
    return "".join(swap(s[a:b], t) if k == "code" else comment(s[a:b], t) if k == "com" else s[a:b]
                   for k, a, b in lex(s))
PARAMETER = re.compile(r"^(///\s*- (?:Parameter )?)(\w+)(?=:)")
def comment(s, t):
    return prose(PARAMETER.sub(lambda m: m[1] + t.get(m[2], m[2]), s), t)
def markdown(s, t):
    out, end = [], 0
    for m in re.finditer(r"(?ms)^( *)```(\w*)[^\n]*\n(.*?)^ *```", s):
        out.append(prose(s[end:m.start()], t))
        body = s[m.start():m.end()]
        out.append(swift(body, t) if m[2] == "swift" else HUMPS.sub(lambda w: t.get(w[0], w[0]), body))
        end = m.end()
    out.append(prose(s[end:], t))
    return "".join(out)

# Examples in doc comments are code: the lines of a fence in a run of /// are renamed as code.
DOCFENCE = re.compile(r"(?m)^([ \t]*///) ?```swift[^\n]*\n((?:^[ \t]*///[^\n]*\n)*?)^[ \t]*/// ?```")
def docfences(s, t):
    def one(m):
        lines = []
        for line in m[2].splitlines(keepends=True):
            i = line.index("///") + 3
            lines.append(line[:i] + swift(line[i:], t))
        return m[0].replace(m[2], "".join(lines)) if m[2] else m[0]
    return DOCFENCE.sub(one, s)

# ---- raw values and coding keys
HEAD = re.compile(r"(?m)^([ \t]*)(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private|final|indirect)\s+)*(enum|struct|class|actor)\s+(\w+)([^{\n]*(?:\n[^{\n]*)?)\{")
def strip(s):
    """The text with comments and strings blanked, for brace matching."""
    out = list(s)
    for k, a, b in lex(s):
        if k != "code":
            for i in range(a, b):
                if out[i] != "\n": out[i] = " "
    return "".join(out)
def body_end(c, i):
    d = 0
    while i < len(c):
        if c[i] == "{": d += 1
        elif c[i] == "}":
            d -= 1
            if d == 0: return i
        i += 1
    return len(c)
RAWTYPES = re.compile(r":\s*(?:[\w.]+\s*,\s*)*String\b")
CODABLE = re.compile(r"\b(Codable|Encodable|Decodable)\b")
MEMBER = re.compile(r"^[ \t]*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)(?:\(set\))?\s+)*(let|var)\s+([^{=\n]*)(.*)$")
def persisted(path, s, t):
    """Gives a renamed case or member the name under which it is stored or printed."""
    edits = []
    c = strip(s)
    extended = set(re.findall(r"extension ([\w.]+)\s*:[^{]*\b(?:Codable|Encodable|Decodable)\b", c))
    for m in HEAD.finditer(c):
        kind, name, inherits = m[2], m[3], m[4]
        start = m.end() - 1
        end = body_end(c, start)
        depth1, d, ls = [], 0, start
        # lines at depth 1
        pos = start + 1; d = 1; line_start_depth = 1; i = pos; ls = pos
        while i < end:
            ch = c[i]
            if ch == "{": d += 1
            elif ch == "}": d -= 1
            elif ch == "\n":
                if line_start_depth == 1: depth1.append((ls, i))
                ls = i + 1; line_start_depth = d
            i += 1
        if line_start_depth == 1 and ls < end: depth1.append((ls, end))
        is_raw = kind == "enum" and RAWTYPES.search(inherits)
        is_codable = bool(CODABLE.search(inherits)) or name in extended
        if kind == "enum":
            cases = []
            for a, b in depth1:
                mm = re.match(r"\s*(?:indirect\s+)?case\s+(.*)$", c[a:b], re.S)
                if mm: cases.append((a + mm.start(1), b))
            for a, b in cases:
                for w in re.finditer(r"(?:^|,)\s*(`?\w+`?)(\s*\([^)]*\))?(\s*=)?", c[a:b]):
                    bare = w[1].strip("`")
                    if bare not in t: continue
                    at = a + w.end(1)
                    if is_raw and not w[3]:
                        edits.append((at, f' = "{bare}"'))
                    elif not is_raw:
                        notes.append(f"{path}: case {name}.{bare} -> {t[bare]}: is its name printed or encoded?"
                                     + (" (Codable!)" if is_codable else ""))
        elif is_codable:
            stored, renamed = [], []
            has_keys = any("CodingKeys" in c[a:b] for a, b in depth1)
            for a, b in depth1:
                mm = MEMBER.match(c[a:b])
                if not mm or re.search(r"\bstatic\b|\blazy\b", c[a:b]): continue
                decl, rest = mm[2], mm[3]
                if rest.lstrip().startswith("{") and "didSet" not in rest and "willSet" not in rest: continue
                for nm in re.findall(r"(?:^|,)\s*(`?\w+`?)\s*(?=:|,|$|\s)", decl.split("=")[0]):
                    bare = nm.strip("`"); stored.append(bare)
                    if bare in t: renamed.append(bare)
            own = "encode(to" in c[start:end] or "init(from" in c[start:end]
            if renamed and not has_keys:
                if own or not stored:
                    undecided.append(f"{path}: {name} encodes itself and has members {renamed}")
                else:
                    pad = m[1] + "    "
                    keys = "\n".join(f'{pad}    case {n}' + (f' = "{n}"' if n in t else "") for n in stored)
                    edits.append((end - len(m[1]) if s[end - len(m[1]):end] == m[1] else end,
                                  f"\n{pad}private enum CodingKeys: String, CodingKey {{\n{keys}\n{pad}}}\n"))
    for at, text in sorted(edits, reverse=True):
        s = s[:at] + text + s[at:]
    return s
OPTION = re.compile(r"@(Option|Flag)\((?!name:|[^()]*\bname:)((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)((?:\s|\n)*(?:private |package |public )?var (\w+))")
def options(path, s, t):
    def one(m):
        if m[4] not in t: return m[0]
        dashed = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda x: "-" + x[1].lower(), m[4])
        inner = f'name: .customLong("{dashed}")' + (", " + m[2].lstrip() if m[2].strip() else "")
        return f"@{m[1]}({inner}){m[3]}"
    return OPTION.sub(one, s)

# ---- the run
def git(*a): return subprocess.run(("git", "-C", ROOT) + a, check=True, capture_output=True, text=True).stdout
files = [f for f in git("ls-files", "-z").split("\0") if f and os.path.exists(os.path.join(ROOT, f))]
SKIP = re.compile(r"^(CHANGELOG\.md|.*/Corpora/|.*/vectors/|.*/Vectors/|.*/Recordings/.*\.(sql|txt)$|Package\.resolved)|\.(json|png|idx|pack)$")
paths = {}
def target(f):
    parts = f.split("/")
    base = parts[-1]
    if base.endswith(".swift"):
        stem = base[:-6]; head, plus, tail = stem.partition("+")
        t = table(f)
        new = t.get(head, head)
        if plus: new += "+" + t.get(tail, tail)
        parts[-1] = new + ".swift"
    f2 = "/".join(parts)
    for old, new in moves:
        if f2.startswith(old + "/"): f2 = new + f2[len(old):]
    return f2
for f in files:
    if any(f.startswith(b + "/") for b in BASES):
        g = target(f)
        if g != f: paths[f] = g
for f, g in list(paths.items()):
    if os.path.exists(os.path.join(ROOT, g)) and g not in paths:
        undecided.append(f"{f} -> {g}: a file is there already"); del paths[f]
seen = collections.Counter(paths.values())
for f, g in list(paths.items()):
    if seen[g] > 1: undecided.append(f"{f} -> {g}: two files"); del paths[f]

contents, before = {}, {}
for f in files:
    if SKIP.search(f): continue
    try: s = open(os.path.join(ROOT, f), encoding="utf-8").read()
    except (UnicodeDecodeError, IsADirectoryError): continue
    before[f] = s
# collisions: a new name that was there before, in a file that has the old one, too
codes = {}
for f, s in before.items():
    if f.endswith(".swift"):
        codes[f] = set(w.strip("`") for k, a, b in lex(s) if k == "code" for w in WORD.findall(s[a:b]))
changed = 0
clash = collections.defaultdict(list)
for f, s in before.items():
    t = table(f)
    if f.endswith(".swift"):
        for o, n in t.items():
            if o in codes[f] and n in codes[f]: clash[(o, n)].append(f)
        s2 = options(f, persisted(f, s, t), t)
        s2 = swift(docfences(s2, t), t)
    elif f.endswith(".md"):
        s2 = markdown(s, t)
    else:
        s2 = HUMPS.sub(lambda m: t.get(m[0], m[0]), s)
    for prefix, pattern, new in texts:
        if f.startswith(prefix): s2 = pattern.sub(new, s2)
    contents[f] = s2
# paths in texts
renames = {}
for f, g in paths.items():
    renames[f] = g
folders = {old: new for old, new in moves}
bases = collections.defaultdict(set)
for f, g in paths.items(): bases[f.split("/")[-1]].add(g.split("/")[-1])
kept = collections.Counter(f.split("/")[-1] for f in files if f not in paths)
def repath(s):
    for f, g in renames.items():
        if f in s: s = s.replace(f, g)
        short = "/".join(f.split("/")[1:])
        if short in s and short.count("/"): s = s.replace(short, "/".join(g.split("/")[1:]))
    for o, n in folders.items():
        if o in s: s = re.sub(re.escape(o) + r"(?=[/\"`)\s])", n, s)
    for o, ns in bases.items():
        if o in s and len(ns) == 1 and not kept[o]:
            s = re.sub(r"(?<![\w+])" + re.escape(o) + r"\b", next(iter(ns)), s)
    return s
for f, s in contents.items():
    s = repath(s) if renames or folders else s
    if s != before[f]:
        changed += 1
        if not DRY: open(os.path.join(ROOT, f), "w", encoding="utf-8").write(s)
if not DRY:
    for f, g in sorted(paths.items()):
        os.makedirs(os.path.dirname(os.path.join(ROOT, g)), exist_ok=True)
        git("mv", f, g)
print(f"{changed} files changed, {len(paths)} moved")
for n in notes: print("check:", n)
for (o, n), fs in sorted(clash.items()):
    print(f"clash: {o} -> {n}: {n} is in {len(fs)} of its files: {' '.join(fs[:6])}")
# ---- what is left
SUSPECT = set("lent lents hand handed handing hands desk desks bell bells ear ears announcer patience verdict settlement survey standing switchboard letter wish uplink entrance company walk sighting stray strays lane lanes parked stranded undo together insight witness convict conviction talk deed door doors house room".split())
def parts_of(n): return [x.lower() for x in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", n)]
leftover = collections.Counter()
for f, s in contents.items():
    if f.endswith(".swift"):
        for k, a, b in lex(s):
            if k == "code":
                for w in WORD.findall(s[a:b]):
                    if SUSPECT & set(parts_of(w)): leftover[w.strip("`")] += 1
known = dict(lefts)
for w, c in sorted(leftover.items()):
    if w not in known: undecided.append(f"identifier {w} ({c} times)")
# top-level types that stand twice
decl = re.compile(r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private|open|final|indirect|nonisolated)(?:\(\w+\))?\s+)*(?:struct|class|enum|actor|protocol|typealias)\s+(\w+)")
doubles = collections.defaultdict(list)
for f, s in contents.items():
    if f.endswith(".swift") and "Benchmarks/peers" not in f:
        for i, l in enumerate(s.splitlines(), 1):
            m = decl.match(l)
            if m: doubles[m[1]].append(f"{paths.get(f, f)}:{i}")
for n, at in sorted(doubles.items()):
    if len(at) > 1 and n not in known: undecided.append(f"type {n} stands {len(at)} times: {' '.join(at)}")
for u in undecided: print("undecided:", u)

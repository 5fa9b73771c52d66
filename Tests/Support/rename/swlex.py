import re
CODE=re.compile(r'[^/"#(){}`]+')
STR={}
def strpat(multi,h):
    k=(multi,h)
    if k not in STR:
        q='"""' if multi else '"'
        esc=r'\\'+'#'*h
        # next interesting: closing, escape, (newline)
        STR[k]=re.compile('(?P<end>'+q+'#'*h+')|(?P<int>'+esc+r'\()|(?P<esc>'+esc+r'.)'+('' if multi else r'|(?P<nl>\n)'),re.S)
    return STR[k]
OPEN=re.compile(r'(#*)("""|")')
BLK=re.compile(r'/\*|\*/')
REGEXPREV=set('(,=:[!&|?{};\n')
def lex(s):
    """yields (kind, start, end): kind in code, str, com"""
    out=[]; n=len(s); i=0; start=0
    # stack of paren depth for interpolations: entries (multi,h,depth)
    stack=[]; depth=0
    def flush(e):
        if e>start: out.append(('code',start,e))
    def instr(i,multi,h):
        # scans string content from i; returns (pos, 'end'|'int')
        p=strpat(multi,h)
        while True:
            m=p.search(s,i)
            if not m: return n,'end'
            if m.lastgroup=='end': return m.end(),'end'
            if m.lastgroup=='int': return m.end(),'int'
            if m.lastgroup=='nl': return m.end(),'end'
            i=m.end()
    while i<n:
        m=CODE.match(s,i)
        if m: i=m.end(); continue
        c=s[i]
        if c=='/' and s.startswith('//',i):
            flush(i); j=s.find('\n',i); j=n if j<0 else j
            out.append(('com',i,j)); i=start=j; continue
        if c=='/' and s.startswith('/*',i):
            flush(i); d=0; j=i
            for b in BLK.finditer(s,i):
                d+=1 if b[0]=='/*' else -1
                if d==0: j=b.end(); break
            else: j=n
            out.append(('com',i,j)); i=start=j; continue
        if c=='"' or c=='#':
            m=OPEN.match(s,i)
            if m:
                flush(i); h=len(m[1]); multi=m[2]=='"""'
                j,w=instr(m.end(),multi,h)
                out.append(('str',i,j)); i=start=j
                if w=='int': stack.append((multi,h,depth)); depth=0
                continue
            i+=1; continue
        if c=='(':
            depth+=1; i+=1; continue
        if c==')':
            if stack and depth==0:
                multi,h,d=stack.pop()
                flush(i); j,w=instr(i+1,multi,h)
                out.append(('str',i,j)); i=start=j
                if w=='int': stack.append((multi,h,d)); depth=0
                else: depth=d
                continue
            depth-=1; i+=1; continue
        if c=='/':
            # regex literal: /.../ on one line, after an opener
            k=i-1
            while k>=0 and s[k] in ' \t': k-=1
            if (k<0 or s[k] in REGEXPREV) and i+1<n and s[i+1] not in ' \t\n/':
                m=re.compile(r'/(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\n\\])+/').match(s,i)
                if m:
                    flush(i); out.append(('str',i,m.end())); i=start=m.end(); continue
        i+=1
    flush(n)
    return out

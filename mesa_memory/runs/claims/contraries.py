"""Words with contrary meanings, which embeddings take for like ones."""

from mesa_memory.tasks.grounding import stem

_PAIRS_TEXT = """
safe/dangerous safe/danger safe/unsafe safe/poisoned safe/toxic clean/poisoned clean/dirty clean/contaminated
guilty/innocent cheater/honest cheat/innocent cheater/innocent liar/honest thief/honest honest/dishonest
true/false true/untrue open/closed open/shut alive/dead living/dead rich/poor cheap/expensive high/low
sick/healthy ill/healthy sick/well happy/sad happy/unhappy friend/enemy love/hate like/dislike
likes/hates buy/sell bought/sold won/lost win/lose arrived/left come/go came/went
accept/reject accepted/refused raise/lower rose/fell increase/decrease strong/weak early/late
full/empty hot/cold married/divorced born/died begin/end began/ended start/stop opened/closed
possible/impossible fair/unfair legal/illegal able/unable trust/distrust loyal/disloyal
seguro/peligroso segura/peligrosa culpable/inocente tramposo/honesto abierto/cerrado vivo/muerto
rico/pobre barato/caro enfermo/sano feliz/triste amigo/enemigo verdadero/falso
sicher/gefährlich schuldig/unschuldig ehrlich/unehrlich betrüger/ehrlich offen/geschlossen lebendig/tot
reich/arm billig/teuer krank/gesund freund/feind wahr/falsch wahr/unwahr
"""

#: by the root of a word, the roots of its contraries
CONTRARIES: dict[str, set[str]] = {}
for pair in _PAIRS_TEXT.split():
    one, other = map(stem, pair.replace("ä", "a").replace("ü", "u").split("/"))
    CONTRARIES.setdefault(one, set()).add(other)
    CONTRARIES.setdefault(other, set()).add(one)

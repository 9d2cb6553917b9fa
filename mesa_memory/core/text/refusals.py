"""Tells a model's refusal from what an agent may remember in the first person.

"I'm sorry, but I can't help with that request" is a refusal, "I'm sorry that I could
not help Agent 4" is a memory. A refusal says that it cannot do, and then names nothing
but the request itself.
"""

import re

#: a refusal stands at the beginning; this much is looked at
LOOKED_AT = 400

_SORRY = (
    r"(?:i am (?:\w+ )?sorry|(?:my )?apologies|sorry|i apologi[sz]e|unfortunately|no)"
)
_AN_AI = r"as an? (?:ai|(?:large )?language model)(?: (?:language )?model| assistant)?"
_UNABLE = (
    r"i (?:can'?t|can ?not|could ?n'?t|could not|won'?t|will not"
    r"|am (?:unable|not (?:able|allowed|permitted|comfortable|going))"
    r"|(?:must|have to)(?= (?:\w+ly )?(?:decline|refuse)\b))\b"
)
#: the first word of all of them
_FIRST = re.compile(r"\W*(?:i|my|apologies|sorry|unfortunately|no|as)\b")
_INABILITY = re.compile(
    rf"\W*(?:{_SORRY}\W+(?:but\W+|however\W+)?)?(?:{_AN_AI}\W+)?{_UNABLE}(?P<rest>.*)"
)
_NO_PERSON = re.compile(
    rf"\W*(?:{_SORRY}\W+(?:but\W+)?)?{_AN_AI}\W+i (?:can|do|am|have|must|will|won)"
    r"(?:not|n'?t|'t| not| no| unable)\b"
)
_ONLY_SORRY = re.compile(rf"\W*{_SORRY}\W*")
_THE_REQUEST = re.compile(r"\b(?:this|that|your|such an?) (?:\w+ )?requests?\b")
#: where what is said about the request ends
_CLAUSE = re.compile(r"[.!?;:…—–]|,? (?:as|because|since|due|at this time)\b")
#: words that, where no others stand, can only mean the request
_WORDS = """a able activities an and answer anyone anything assist assistance assisting be
by carry comply complying content contents continue continuing conversation create
creating decline discuss discussion do doing engage engaging event events for from fulfil
fulfill further generate generating give grade grades grading help helping impression
impressions in information instruction instructions it kind like material memories memory
of offer on or out participate politely process produce prompt provide providing rate
rating ratings refuse request requests respectfully respond response so sort summaries
summarise summarising summarization summarize summarizing summary support task text that
the these this those to topic topics type with write writing you your"""
_GENERIC = frozenset(_WORDS.split())


#: how an assistant begins to speak to its user, in the most common languages
_OPENING = re.compile(
    r"[^\w]*(?:"
    r"h(?:ello|i|ey)\b|greetings|good (?:morning|day|evening)|sure|certainly|of course|ok"
    r"|great|thank|i understand|understood|got it|please|(?:how|what) (?:can|may)"
    r"|i'?(?:m| am) (?:here|ready|happy|glad|sorry)|sorry|(?:my )?apolog|unfortunately"
    r"|i'?(?:d| would) be (?:happy|glad)"
    r"|hallo|guten tag|gern|natürlich|selbstverständlich|bitte|(?:es )?tut mir|leider"
    r"|entschuldig|verzeih|wie kann|womit kann|ich bedau"
    r"|bonjour|salut|bien sûr|d'accord|(?:je suis |nous sommes )?(?:sincèrement )?désolé"
    r"|malheureusement|comment puis|excusez"
    r"|hola|buen(?:os|as)|claro|por supuesto|lo siento|(?:lo )?lament|disculp|perdón"
    r"|(?:en qué|cómo) puedo|desafortunadamente"
    r"|olá|oi\b|bom dia|com certeza|desculp|sinto muito|infelizmente|(?:em que|como) posso"
    r"|ciao|salve|buongiorno|cert[oa]|mi dispiace|purtroppo|scus|(?:come|in che) "
    r"|goedendag|natuurlijk|het spijt|helaas|(?:hoe|waarmee) kan"
    r"|hej|hei|tyvärr|desværre|dessverre|beklager|jag är ledsen|förlåt|(?:hur|hvordan) kan"
    r"|moi\b|valitettavasti|pahoittel|olen pahoillani|(?:miten|kuinka) voin"
    r"|cześć|dzień dobry|witaj|oczywiście|przykro|przepraszam|niestety|w czym|jak mogę"
    r"|ahoj|dobrý den|omlouv|bohužel|jak vám"
    r"|merhaba|elbette|tabii|üzgün|maalesef|özür|(?:size )?nasıl"
    r"|здравствуй|привет|добрый день|конечно|извин|прост|к сожалению|сожале|чем (?:я )?мог"
    r"|вітаю|привіт|добрий день|звичайно|вибач|на жаль|чим (?:я )?мо"
    r"|γεια|λυπ|συγγ|δυστυχ|πώς μπορώ|مرحب|أهلا|السلام|عذر|آسف|أعتذر|للأسف|بالتأكيد|كيف يمكن"
    r"|שלום|מצטער|סליחה|לצערי|איך אוכל|नमस्ते|क्षमा|माफ|खेद|ज़रूर|मैं आपकी|मुझे खेद"
    r"|你好|您好|当然|當然|好的|(?:非常|很)?(?:抱歉|遗憾|遺憾)|对不起|對不起|请问|請問"
    r"|こんにちは|はい|もちろん|申し訳|すみません|ごめん|恐れ入り|残念"
    r"|안녕|물론|죄송|미안|유감|xin (?:chào|lỗi)|rất tiếc|tất nhiên|chào"
    r"|halo|tentu|maaf|(?:mohon )?maaf|sayangnya|สวัสดี|ขอโทษ|ขออภัย|แน่นอน)"
)
#: what it then offers, asks for or declines
_SERVICE = re.compile(
    r"(?:assist|help) (?:you|with (?:that|this|you))|(?:happy|glad|here|ready) to (?:help|as)"
    r"|can i (?:do|help|assist)|please (?:provide|share|send|paste)|let me know"
    r"|as (?:data|instruct)|(?:your|this|that) (?:request|message|prompt|input)|summari[sz]"
    r"|anything else|language model"
    r"|kann ich\b.*(?:helf|tun|dien|zusammenf|beantw|erfüll|nachk|unterst)|geben sie"
    r"|anfrage|behilflich|vous aider|t'aider|aider avec|(?:votre|cette) (?:dema|ques|req)"
    r"|résumer|ayudar|asistir|solicitud|petición|resum|proporcion|ajud|solicita|pedido"
    r"|aiutar|assister|richiesta|riassum|helpen|verzoek|samenvat|van dienst"
    r"|hjälpa|hj[eæ]lpe|begäran|förfråg|forespørs|anmodn|sammanfatt|oppsumm|bistå"
    r"|auttaa|avuksi|pyyn|tiivist|pom[óo]c|prośb|żąda|podsumow|požadav|žádost|shrn"
    r"|yardım|isteğ|taleb|talep|özetle|помо[чг]|запрос|просьб|резюмир|обобщ|предостав"
    r"|допомог|запит|прохан|βοηθ|αίτημα|συνοψ|مساعد|أساعد|طلب|تلخيص|לעזור|לסייע|בקשה|לסכם"
    r"|मदद|सहायता|अनुरोध|सारांश|帮|幫|协助|協助|请求|請求|要求|总结|總結|讨论|討論|提供"
    r"|手伝|お答え|お応え|要望|リクエスト|要約|対応|ご質問|도와|도움|요청|요약|제공"
    r"|giúp|hỗ trợ|yêu cầu|tóm tắt|bantu|permintaan|merangkum|ringkas|ช่วย|คำขอ|สรุป"
)
#: an assistant that speaks of itself
_ITSELF = re.compile(
    r"\b(?:gpt-?\d|chatgpt|(?:an|eine?|une?|uma?|un[ao]?) (?:ai|ki|ia)\b)|language model"
    r"|sprachmodell|modelo de (?:lenguaje|linguagem)|modèle de lang|modello linguistico"
    r"|taalmodel|språkmodell|языковая модель|искусственный интеллект|人工智能|语言模型"
    r"|言語モデル|언어 모델|نموذج لغ|dil modeli"
)
#: an error of a server in plain text, or a blank of an example
_FAULT = re.compile(
    r"\W*(?:error\b|(?:http\W*|status\W*|code\W*)*[45]\d\d\b|internal server|bad gateway"
    r"|gateway time|service (?:is )?(?:temporarily |currently )?(?:unavail|overload)"
    r"|(?:the )?(?:model|server|engine) (?:is )?(?:currently |temporarily )?(?:overload|load)"
    r"|overloaded|too many req|rate limit|upstream |no healthy upstream|quota "
    r"|connection (?:refus|reset|timed|error|clos|abort)|request (?:timed|timeout|failed)"
    r"|timed? ?out|read timed|(?:access denied|forbidden|unauthorized|not found)\W*$"
    r"|(?:invalid|incorrect) api|traceback \(|lorem ipsum"
    r"|(?:<?(?:text|summary|string|your summary(?: here)?)>?|\[[^\]]*summary[^\]]*\])\W*$)"
)


def speaks_to_user(text: str) -> bool:
    """True if a text is a greeting, an offer, a refusal or an error in any of many languages.

    A memory may begin in the same way, so ask only for a text that shares nothing with
    the events.
    """
    start = " ".join(text[:LOOKED_AT].lower().replace("’", "'").split())
    if _FAULT.match(start) or _ITSELF.search(start):
        return True
    speaks = _OPENING.match(start) or start.endswith(("?", "？", "؟"))
    return bool(speaks and _SERVICE.search(start))


def refuses(text: str) -> bool:
    """True if ``text`` is a refusal of the request, not an answer to it."""
    start = text[:LOOKED_AT].lower()
    if not _FIRST.match(start):  # as nearly always
        return False
    start = " ".join(start.replace("’", "'").split())
    start = start.replace("i'm", "i am")
    if _ONLY_SORRY.fullmatch(start) or _NO_PERSON.match(start):
        return True
    unable = _INABILITY.match(start)
    if not unable:
        return False
    said = _CLAUSE.split(unable["rest"], maxsplit=1)[0]
    words = re.findall(r"[^\W_]+", said)
    return _GENERIC.issuperset(words) or bool(_THE_REQUEST.search(said))

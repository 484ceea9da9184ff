"""Names in few bytes: every vocabulary comes back, and what is no vocabulary is refused."""

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.data.readers.text import SPACED, spaced
from byheart.errors import ByheartError
from byheart.exact import vocabulary
from byheart.machine.streams import Source, number, numbers, stream

SCRIPTS = {
    "Latin": "The cat and the Cat; THE END. The dog's\n\nThe cats, über Straße ÉTÉ été",
    "Greek": "Ο Οδυσσεύς ΟΔΥΣΣΕΥΣ ὁ οδυσσεύς, ΣΟΦΟΣ σοφός σοφος",
    "Cyrillic": "Война и мир. ВОЙНА и Мир, ёлка Ёлка",
    "Armenian": "Բոլոր մարդիկ ծնվում են. բոլոր ՄԱՐԴԻԿ",
    "Georgian": "ყველა ადამიანი Ყველა ᲧᲕᲔᲚᲐ",
    "Hebrew": "בְּרֵאשִׁית בָּרָא, בראשית ברא",
    "Arabic": "يولد جميع الناس أحرارًا. الناس",
    "Devanagari": "सभी मनुष्यों को गौरव और अधिकारों",
    "Thai": "มนุษย์ทั้งหลาย เกิดมา มนุษย์",
    "Han and kana": "人人生而自由, 人人。すべての人間は、生まれながら",
    "Turkish": "ısı ISI İstanbul istanbul IŞIK ışık",
    "odd cases": "ß ẞ SS ss ǅ ǆ Ǆ ŉ ﬁ FI \u0301 e\u0301 E\u0301 ſ S Ⅷ ⅷ K k K",
}
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def there_and_back(tokens, labels, cut=None):
    ranks = list(range(len(labels)))
    random.Random(0).shuffle(ranks)
    source = Source(vocabulary.encode(sorted(tokens), labels, ranks, cut), "it")
    found = vocabulary.decode(source)
    source.end()
    assert found == (sorted(tokens), [labels[place] for place in ranks])


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_of_every_script_come_back(script, form):
    text = unicodedata.normalize(form, SCRIPTS[script])
    words = sorted({*spaced(text), *text.split(" ")})
    there_and_back(words, words)
    there_and_back(words[::2], words[::3], SPACED.findall)


@given(st.sets(names, min_size=1), st.sets(names, min_size=1), st.booleans())
def test_any_names_come_back(tokens, labels, phrases):
    there_and_back(tokens, sorted(labels), SPACED.findall if phrases else None)


@given(st.sets(names), st.sets(st.integers(), min_size=1))
def test_integer_labels_of_any_size_come_back(tokens, labels):
    there_and_back(tokens, sorted(labels))


@given(st.lists(st.lists(st.sampled_from([" a", " b", " C", "\nd"]), min_size=1), min_size=1))
def test_phrases_of_any_length_come_back(phrases):
    there_and_back({"".join(words) for words in phrases}, ["x"], SPACED.findall)


def test_a_word_in_four_variants_costs_hardly_more_than_in_one():
    rng = random.Random(1)
    forms = sorted({"".join(rng.choices("abcdefghij", k=7)) for _ in range(500)})
    variants = [v + f for f in forms for v in ("", " ")]
    capitals = [v + f.capitalize() for f in forms for v in ("", " ")]
    words = sorted(variants + capitals)
    one, four = (len(vocabulary.encode(x, x, range(len(x)))) for x in (forms, words))
    assert four < 1.1 * one


def test_a_phrase_costs_less_than_its_letters():
    rng = random.Random(1)
    words = sorted({f" {''.join(rng.choices('abcdefghij', k=9))}" for _ in range(300)})
    phrases = {rng.choice(words) + rng.choice(words) for _ in range(1000)}
    known = sorted({*words, *phrases})
    cut, plain = (len(vocabulary.encode(known, ["x"], [0], x)) for x in (SPACED.findall, None))
    assert cut < 0.7 * plain


def test_rests_are_parted_by_a_letter_that_none_of_them_has():
    there_and_back(["\0", "\0a", "a\0", "\x01"], ["\0\0"])


def words(shared=(0,), mark=0, rests=b"a", sets=b'[[["",0]]]', given=(0,)):
    return b"".join(
        (number(len(given)), numbers(shared), number(mark), stream(rests), stream(sets))
    ) + numbers(given)


def rules(*levels, lefts=(), rights=()):
    return b"".join(map(number, [len(levels), *levels])) + numbers(lefts) + numbers(rights)


GOOD = vocabulary.encode(["a", "b"], ["a", "b"], [0, 1])
NONE, NO_INTEGERS = words((), 0, b"", b"[]", ()), stream(b"[]")
DEEP = rules(*40 * [1], lefts=range(40), rights=range(40))
BAD = {
    "cut off": GOOD[:-1],
    "above the limit": number(1 << 40),
    "absurdly large": b"\xff" * 9 + b"\0",
    "shares more letters": words(shared=(1,)),
    "words are not written": words(sets=b"[0]"),
    "not written as they should be": words(rests=b"a\0b"),
    "not listed": words(sets=b"[]"),
    "integers are not written": NONE + stream(b"[1.5]"),
    "a part that there is not": words() + NO_INTEGERS + rules(1, lefts=[1], rights=[0])
    + numbers([3]),
    "2^27 letters": words() + NO_INTEGERS + DEEP + numbers([3]),
    "stands twice": NONE + stream(b"[1,0]") + rules() + numbers([]) * 2 + numbers([2, 2]),
    "an integer is a token": NONE + stream(b"[1]") + rules() + numbers([]) * 2 + numbers([3]),
    "not all strings or all integers": words() + NO_INTEGERS + rules() + numbers([1])
    + numbers([]) * 2,
}  # fmt: skip


@pytest.mark.parametrize("reason", BAD)
def test_what_is_no_vocabulary_is_refused(reason):
    with pytest.raises(ByheartError, match=reason.replace("^", r"\^")):
        vocabulary.decode(Source(BAD[reason], "the file"))

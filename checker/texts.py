"""The tokenizer of a stock checkpoint and the tokens of texts: section 10 of FORMAT.md.

Standard library only, and no code shared with the package that writes these folders, or with the
library that it uses.
"""

import heapq
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

try:
    from . import check
except ImportError:  # this folder is not a package, but on the path
    import check

NAME = "tokenizer.json"
FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
BYTE_LEVEL = ("type", "add_prefix_space", "trim_offsets", "use_regex")
WORD = r"\s*(?:[\p{L}\p{M}\p{N}_]+(?:['\u2019][\p{L}\p{M}]+)*|[^\s\p{L}\p{M}\p{N}_]+)|\s+"
SPACES = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B))
)
UNICODE = (16, 0, 0)  # of the tables that the libraries have
SHORT = (
    "'s",
    "'t",
    "'re",
    "'ve",
    "'m",
    "'ll",
    "'d",
)  # the first alternatives of GPT-2's expression


# ---------------------------------------------------------------- objects with listed keys


def closed(
    raw: Any, where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The object, which has all the required keys and no key that is not listed."""
    if type(raw) is not dict:
        check.refuse(f"{where} is {check.show(raw)}, not an object")
    for key in raw:
        if key not in required and key not in optional:
            check.refuse(f"{where} has the key {check.show(key)}, which the format does not list")
    for key in required:
        if key not in raw:
            check.refuse(f"{where} has no {check.show(key)}")
    return raw


def equals(raw: dict[str, Any], where: str, wanted: dict[str, Any]) -> None:
    """Each value, where it is there, is the wanted one, of its type."""
    for key, value in wanted.items():
        if key in raw and not same(raw[key], value):
            check.refuse(
                f"{where}: {check.show(key)} is {check.show(raw[key])}, known is "
                f"{check.show(value)}"
            )


def same(one: Any, other: Any) -> bool:
    """Equal values of equal types: 1 is not true, and 1.0 is not 1."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one == other


# ---------------------------------------------------------------- tokenizer.json


@dataclass
class Tokenizer:
    """Tokens with their numbers, and how a text is split.

    numbers  of all tokens
    added    contents of the added tokens, the longest first
    special  those that are left out where tokens are put together
    pieces   how the text between added tokens is cut; None if this checker cannot do it
    ranks    of merges, None for words
    whole    whether a piece that is in the vocabulary is one token, whatever the merges say
    """

    numbers: dict[str, int]
    added: list[str]
    special: frozenset[str]
    vocabulary: frozenset[str]
    pieces: Callable[[str], Iterator[str]] | None
    ranks: dict[tuple[str, str], int] | None
    whole: bool
    unknown: str | None

    def tokens(self, text: str) -> list[str] | None:
        """The tokens of a text; None if they do not spell it."""
        check_assigned(text)
        tokens: list[str] = []
        for part, is_added in self.cut(text):
            tokens += [part] if is_added else self.split(part)
        return tokens if self.spelled(tokens) == text else None

    def cut(self, text: str) -> Iterator[tuple[str, bool]]:
        """The added tokens of a text, and what lies between them."""
        start = place = 0
        while place < len(text):
            found = next((token for token in self.added if text.startswith(token, place)), None)
            if found is None:
                place += 1
                continue
            if place > start:
                yield text[start:place], False
            yield found, True
            start = place = place + len(found)
        if start < len(text):
            yield text[start:], False

    def split(self, text: str) -> list[str]:
        """The tokens of a text without added tokens."""
        tokens = []
        for piece in self.pieces(text) if self.pieces else ():
            if self.ranks is None:
                tokens.append(piece if piece in self.vocabulary else self.unknown or "")
            else:
                tokens += self.merged("".join(LETTERS[byte] for byte in piece.encode()))
        return tokens

    def merged(self, word: str) -> list[str]:
        """Byte-pair encoding: the pair that stands first among the merges is joined, as long as
        there is one, at the leftmost place.

        A part stays where its first character was, and what was joined to its left is empty; the
        heap also holds pairs that are no more.
        """
        if self.whole and word in self.vocabulary:
            return [word]
        ranks, parts, size = self.ranks or {}, list(word), len(word)
        before, after = list(range(-1, size - 1)), list(range(1, size + 1))
        heap = [
            (ranks[x], i) for i, x in enumerate(zip(parts, parts[1:], strict=False)) if x in ranks
        ]
        heapq.heapify(heap)
        while heap:
            rank, at = heapq.heappop(heap)
            right = after[at]
            if right == size or ranks.get((parts[at], parts[right])) != rank:
                continue
            parts[at], parts[right] = parts[at] + parts[right], ""
            after[at] = after[right]
            if after[at] < size:
                before[after[at]] = at
            for left in (before[at], at):
                if left >= 0 and after[left] < size:
                    pair = parts[left], parts[after[left]]
                    if pair in ranks:
                        heapq.heappush(heap, (ranks[pair], left))
        return [part for part in parts if part in self.vocabulary]  # others get lost

    def spelled(self, tokens: list[str]) -> str | None:
        """What the tokens make up; None if that is not a text."""
        try:
            return self.bytes_of(tokens).decode("utf-8")
        except UnicodeDecodeError:
            return None

    def bytes_of(self, tokens: Iterable[str]) -> bytes:
        words = [token for token in tokens if token not in self.special]
        if self.ranks is None:
            return "".join(words).encode()
        return b"".join(
            token.encode() if token in self.added else bytes(BYTES[letter] for letter in token)
            for token in words
        )

    def text(self, tokens: Iterable[str | None], named: bool = False) -> str | None:
        """The same with U+FFFD for what is not UTF-8; None if a number has no token.

        named  whether a special token, which is left out elsewhere, stands for itself
        """
        words = list(tokens)
        if None in words:
            return None
        known = [word for word in words if word is not None]
        if named and known[0] in self.special:
            return known[0]
        return self.bytes_of(known).decode("utf-8", "replace")


def read_tokenizer(content: bytes, kind: str, vocabulary: int, end: str) -> Tokenizer:
    """The tokenizer of a folder of this kind, with so many rows of its embedding."""
    keys = ("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer")
    keys += ("post_processor", "decoder", "model")
    raw = closed(check.parse_object(content, NAME, library=True), NAME, keys)
    nothing = {"truncation": None, "padding": None, "normalizer": None}
    equals(raw, NAME, {"version": "1.0", **nothing})
    added, special = read_added(check.get(raw, "added_tokens", list, NAME))
    if end not in special:
        check.refuse(f"{NAME}: the end token {check.show(end)} is not a special added token")
    model = check.get(raw, "model", dict, NAME)
    numbers = dict(check.get(model, "vocab", dict, f"{NAME}, model")) | added
    for token, number in numbers.items():
        check.check_text(token, NAME)
        if type(number) is not int or not 0 <= number < vocabulary:
            is_number = f"{check.show(token)} has the number {check.show(number)}"
            check.refuse(f"{NAME}: {is_number}, not one from 0 to {vocabulary - 1}")
    if len(set(numbers.values())) < len(numbers):
        check.refuse(f"{NAME}: two tokens have the same number")
    check_added_numbers(model["vocab"], added)
    if model.get("type", "BPE") == "WordLevel":
        pieces, ranks = read_words(raw, model, special), None
    else:
        pieces, ranks = read_pairs(raw, model)
    read_post_processor(raw["post_processor"], kind, end, numbers[end])
    return Tokenizer(
        numbers,
        sorted(added, key=len, reverse=True),
        special,
        frozenset(model["vocab"]),
        pieces,
        ranks,
        model.get("ignore_merges", False),
        model["unk_token"],
    )


def read_added(given: list[Any]) -> tuple[dict[str, int], frozenset[str]]:
    """The numbers of the added tokens, and which of them are special."""
    where = f"{NAME}, added_tokens"
    numbers: dict[str, int] = {}
    special = set()
    for item in given:
        token = closed(item, where, ("id", "content", "special", *FLAGS))
        equals(token, where, dict.fromkeys(FLAGS, False))
        text = check.get(token, "content", str, where)
        if not text or not all("!" <= letter <= "~" for letter in text) or text in numbers:
            check.refuse(f"{where}: the content {check.show(text)} is not one that is read")
        numbers[text] = check.get(token, "id", int, where)
        if check.get(token, "special", bool, where):
            special.add(text)
    return numbers, frozenset(special)


def check_added_numbers(vocabulary: dict[str, Any], added: dict[str, int]) -> None:
    """Libraries do not read the numbers of added tokens: a token that is in the vocabulary has its
    number there, and the others are counted on from the size of the vocabulary."""
    new = [token for token in added if token not in vocabulary]
    counted = {token: len(vocabulary) + i for i, token in enumerate(new)}
    for token, number in added.items():
        wanted = vocabulary.get(token, counted.get(token))
        if not same(number, wanted):
            check.refuse(
                f"{NAME}, added_tokens: {check.show(token)} has the number {number}, and a "
                f"library gives it {check.show(wanted)}"
            )
    if new and max(vocabulary.values(), default=-1) >= len(vocabulary):
        check.refuse(f"{NAME}: the numbers of vocab have a gap, and added tokens come after them")


def read_words(
    raw: dict[str, Any], model: dict[str, Any], special: frozenset[str]
) -> Callable[[str], Iterator[str]]:
    """One token per word. Libraries cut the token for unknown words out of every text."""
    closed(model, f"{NAME}, model", ("type", "vocab", "unk_token"))
    unknown = check.get(model, "unk_token", str, f"{NAME}, model")
    if unknown not in special:
        check.refuse(f"{NAME}: unk_token {check.show(unknown)} is not a special added token")
    read_split(raw["pre_tokenizer"], WORD)
    equals(raw, NAME, {"decoder": {"type": "Fuse"}})
    return word_pieces


def read_pairs(
    raw: dict[str, Any], model: dict[str, Any]
) -> tuple[Callable[[str], Iterator[str]] | None, dict[tuple[str, str], int]]:
    """Byte-level byte-pair encoding."""
    where = f"{NAME}, model"
    required = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    required += ("fuse_unk", "vocab", "merges")
    closed(model, where, required, ("type", "byte_fallback", "ignore_merges"))
    nothing = {"dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False}
    equals(model, where, {"type": "BPE", **nothing})
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model[key] is not None:
            equals(model, where, {key: ""})
    if "ignore_merges" in model:
        check.get(model, "ignore_merges", bool, where)
    for token in model["vocab"]:
        if not token or not all(letter in BYTES for letter in token):
            if not any(token == item["content"] for item in raw["added_tokens"]):
                check.refuse(f"{where}: the token {check.show(token)} is not made of bytes")
    ranks: dict[tuple[str, str], int] = {}
    merges = check.get(model, "merges", list, where)
    if len(set(map(type, merges))) > 1:
        check.refuse(f"{where}: some merges are strings and some are lists")
    for rank, merge in enumerate(merges):
        if isinstance(merge, str) and merge.startswith("#version"):
            check.refuse(f"{where}: the merge {check.show(merge)} is a comment")
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if type(pair) is not list or len(pair) != 2 or not all(type(x) is str for x in pair):
            check.refuse(f"{where}: the merge {check.show(merge)} is not a pair of strings")
        first, second = pair
        if (first, second) in ranks:
            check.refuse(f"{where}: the merge {check.show(merge)} stands twice")
        for token in (first, second, first + second):
            if token not in model["vocab"]:
                check.refuse(f"{where}: {check.show(token)} of a merge is not in vocab")
        ranks[first, second] = rank
    read_byte_level(raw["decoder"], f"{NAME}, decoder")
    before = raw["pre_tokenizer"]
    if isinstance(before, dict) and before.get("type") == "Sequence":
        parts = closed(before, f"{NAME}, pre_tokenizer", ("type", "pretokenizers"))["pretokenizers"]
        if type(parts) is not list or len(parts) != 2:
            check.refuse(f"{NAME}, pre_tokenizer: not a split and the bytes")
        read_split(parts[0], None)
        read_byte_level(parts[1], f"{NAME}, pre_tokenizer", use_regex=False)
        return None, ranks
    read_byte_level(before, f"{NAME}, pre_tokenizer", use_regex=True)
    return byte_pieces, ranks


def read_split(raw: Any, expression: str | None) -> None:
    """A split by this regular expression, or by any."""
    where = f"{NAME}, pre_tokenizer"
    split = closed(raw, where, ("type", "pattern", "behavior", "invert"))
    equals(split, where, {"type": "Split", "behavior": "Isolated", "invert": False})
    pattern = closed(split["pattern"], f"{where}, pattern", ("Regex",))
    check.get(pattern, "Regex", str, f"{where}, pattern")
    if expression is not None:
        equals(pattern, f"{where}, pattern", {"Regex": expression})


def read_byte_level(raw: Any, where: str, use_regex: bool | None = None) -> None:
    """Of a pre-tokenizer `use_regex` is known; elsewhere the three flags have no effect."""
    flags = closed(raw, where, BYTE_LEVEL)
    equals(flags, where, {"type": "ByteLevel"})
    for key in BYTE_LEVEL[1:]:
        check.get(flags, key, bool, where)
    if use_regex is not None:
        equals(flags, where, {"add_prefix_space": False, "use_regex": use_regex})


def read_post_processor(raw: Any, kind: str, end: str, number: int) -> None:
    """Nothing for GPT-2; for Llama the end token stands before every text."""
    where = f"{NAME}, post_processor"
    if kind == "gpt2":
        if raw is not None:
            read_byte_level(raw, where)
        return

    def part(text: str, place: int) -> list[dict[str, Any]]:
        return [
            {"SpecialToken": {"id": end, "type_id": place}},
            {"Sequence": {"id": text, "type_id": place}},
        ]

    wanted = {
        "type": "TemplateProcessing",
        "single": part("A", 0),
        "pair": part("A", 0) + part("B", 1),
        "special_tokens": {end: {"id": end, "ids": [number], "tokens": [end]}},
    }
    equals(closed(raw, where, tuple(wanted)), where, wanted)


# ---------------------------------------------------------------- the tokens of a text


def byte_letters() -> list[str]:
    """The character that stands for each byte."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in own else next(others)) for byte in range(256)]


LETTERS = byte_letters()
BYTES = {letter: byte for byte, letter in enumerate(LETTERS)}


def check_assigned(text: str) -> None:
    """Refuse characters of which the tables here may say something else than those of libraries:
    what is newer than theirs is a letter here, and nothing there."""
    if text.isascii():
        return
    newer = tuple(map(int, unicodedata.unidata_version.split("."))) > UNICODE
    tables = unicodedata.ucd_3_2_0 if newer else unicodedata
    for letter in text:
        if tables.category(letter) in ("Cn", "Cs"):
            version = tables.unidata_version
            check.refuse(f"the character U+{ord(letter):04X} is not in Unicode {version}")


def kind_of(letter: str) -> str:
    """Of a character: space, L (letter), M (mark), N (number) or another."""
    if letter in SPACES:
        return "space"
    category = unicodedata.category(letter)[0]
    return category if category in "LMN" else "other"


def run(text: str, start: int, belongs: Callable[[str], bool]) -> int:
    """The end of the characters from here on that belong together."""
    while start < len(text) and belongs(text[start]):
        start += 1
    return start


def byte_pieces(text: str) -> Iterator[str]:
    """The matches of GPT-2's expression."""
    place = 0
    while place < len(text):
        end = piece_end(text, place)
        yield text[place:end]
        place = end


def piece_end(text: str, place: int) -> int:
    for short in SHORT:
        if text.startswith(short, place):
            return place + len(short)
    start = place + (text[place] == " ")
    if start < len(text) and text[start] not in SPACES:
        kind = kind_of(text[start])
        if kind in ("L", "N"):
            return run(text, start, lambda letter: kind_of(letter) == kind)
        return run(text, start, lambda letter: kind_of(letter) not in ("space", "L", "N"))
    end = run(text, place, SPACES.__contains__)
    return end - 1 if end < len(text) and end > place + 1 else end


def word_pieces(text: str) -> Iterator[str]:
    """The matches of the expression for words."""
    place = 0
    while place < len(text):
        end = word_end(text, place)
        yield text[place:end]
        place = end


def in_word(letter: str) -> bool:
    return letter == "_" or kind_of(letter) in ("L", "M", "N")


def word_end(text: str, place: int) -> int:
    start = run(text, place, SPACES.__contains__)
    if start == len(text):
        return start
    if not in_word(text[start]):
        return run(text, start, lambda letter: letter not in SPACES and not in_word(letter))
    end = run(text, start, in_word)
    while end < len(text) and text[end] in "'\u2019":
        more = run(text, end + 1, lambda letter: kind_of(letter) in ("L", "M"))
        if more == end + 1:
            break
        end = more
    return end


# ---------------------------------------------------------------- files of texts

Row = tuple[list[str], str, int]  # tokens, the label, the count


@dataclass
class Text:
    """A line of a file of texts.

    tokens  of all of it; None if they do not spell it
    first   how many of them its first context has
    """

    number: int
    tokens: list[str] | None
    first: int
    count: int


def holds_texts(path: str) -> bool:
    """Whether the first line of a .jsonl file is a text, rather than tokens with a label."""
    if not path.lower().endswith(".jsonl"):
        return False
    for line in check.read_bytes(path, follow=True).split(b"\n"):
        if line.strip(b" \t\r"):
            raw = check.parse_object(line, "line 1")
            return "input" not in raw and ("prompt" in raw or "text" in raw)
    return False


def read_texts(path: str, tokenizer: Tokenizer, kind: str, end: str) -> tuple[list[Text], int]:
    """The texts of a file, split into their tokens, and how many were too short to hold any
    prediction."""
    if tokenizer.pieces is None:
        check.refuse("the texts are split by an expression that this checker does not have")
    front = [end] if kind == "llama" else []
    texts: list[Text] = []
    shapes: set[bool] = set()
    answers: dict[str, str] = {}  # as they stand after a prompt
    skipped = 0
    for number, line in enumerate(check.read_bytes(path, follow=True).split(b"\n"), 1):
        if not line.strip(b" \t\r"):
            continue
        where = f"{check.show(path)}, line {number}"
        raw = check.parse_object(line, where)
        shapes.add("text" in raw)
        keys = ("text",) if "text" in raw else ("prompt", "answer")
        closed(raw, where, keys, ("count",))
        for key in keys:
            check.check_text(check.get(raw, key, str, where), where)
        count = check.get(raw, "count", int, where) if "count" in raw else 1
        if not 1 <= count < 2**63:
            check.refuse(f"{where}: the count is {check.show(count)}")
        if "text" in raw:
            begun, rest = tokenizer.tokens(raw["text"]), []
            if begun is not None and len(begun) < 2:
                skipped += 1
                continue
            first = len(front) + 1
        else:
            answer = raw["answer"]
            after = answer if answer[:1] in SPACES and answer else f" {answer}"
            if answers.setdefault(after, answer) != answer:
                check.refuse(f"{where}: the answer is that of another line but for a space")
            begun, rest = tokenizer.tokens(raw["prompt"]), tokenizer.tokens(after)
            first = len(front) + len(begun or ())
        whole = None if begun is None or rest is None else [*front, *begun, *rest]
        texts.append(Text(number, whole, first, count))
    if len(shapes) > 1:
        check.refuse(f"{check.show(path)}: some lines are texts and some prompts with answers")
    return texts, skipped


def sequences(texts: list[Text], end: str, every: bool = False) -> list[Row]:
    """What the texts ask for: every context with the token that follows it.

    every  whether a text ends also where another one goes on
    """
    contexts = {
        tuple(text.tokens[:size])
        for text in texts
        if text.tokens is not None
        for size in range(text.first, len(text.tokens))
    }
    rows: list[Row] = []
    for text in texts:
        if text.tokens is None:
            continue
        words = text.tokens
        rows += [(words[:n], words[n], text.count) for n in range(text.first, len(words))]
        if every or tuple(words) not in contexts:
            rows.append((words, end, text.count))
    return rows

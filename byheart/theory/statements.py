"""Every numbered statement of the three papers, and the command that shows it.

The page docs/statements.md is made of this table. In a command, DATA is a file of labelled
sequences of words, TOKENS one with a label for every token, and NEW a name for what is written.
"""

from typing import NamedTuple

PAPERS = {
    "madden2024": "Madden, Fox and Thrampoulidis (madden2024)",
    "dana2024": "Dana, Pydi and Chevaleyre (dana2024)",
    "kajitsuka2025": "Kajitsuka and Sato (kajitsuka2025)",
}
KINDS = ("methods", "bounds", "checks", "figures")


class Statement(NamedTuple):
    """A statement, and where byheart has it.

    says     what it states, in a few words
    command  what follows "byheart" on a command line that shows it
    methods  constructions that carry it out, as `byheart methods` names them
    bounds   rows of `byheart bounds`, by their items
    checks   checks of `byheart check`
    figures  figures of `byheart reproduce`
    """

    paper: str
    item: str
    says: str
    command: str
    methods: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """How: "construction", "bound", "check", "figure"; else "shown", by the command alone."""
        kinds = {
            "construction": self.methods,
            "bound": self.bounds,
            "check": self.checks,
            "figure": self.figures,
        }
        return tuple(kind for kind, names in kinds.items() if names) or ("shown",)

    def json(self) -> dict:
        """The same as words and lists."""
        lists = {kind: list(getattr(self, kind)) for kind in KINDS}
        named = {"paper": self.paper, "item": self.item, "says": self.says}
        return {**named, "shown": list(self.shown), **lists, "command": f"byheart {self.command}"}


BOUNDS = "bounds --dataset DATA"
EXTRACTION = "explain bit-extraction DATA"
ENCODER = "encoder DATA --dimensions 1,2,3"
DECODER = "bounds --architecture madden2024 --vocabulary 100 --dimension 16 --width 64 --length 10"
HEADS = "--dimension 4 --heads 2 --head-dimension 2"
PLAIN = "--architecture dana2024 --vocabulary 50 --dimension 10 --heads 20 --head-dimension 10"


def _table(paper: str, *rows: tuple) -> tuple[Statement, ...]:
    """Rows of item, words and command, and a dictionary of lists of names."""
    found = []
    for item, says, command, *more in rows:
        named = more[0] if more else {}
        lists = (tuple(named[kind].split("; ")) if kind in named else () for kind in KINDS)
        found.append(Statement(paper, item, says, command, *lists))
    return tuple(found)


MADDEN_2024 = _table(
    "madden2024",
    ("Table 1", "Upper and lower bounds of the memory capacity, side by side.", "bounds --table"),
    ("eq. (1)", "The empirical distribution of the next token.", "stats DATA"),
    ("Definition 1", "The memory capacity of a model for next-token prediction.", DECODER),
    ("Lemma 1", "A model with k parameters has a capacity of at most k / (ω - 1).", DECODER,
     {"bounds": "Lemma 1"}),
    ("Lemma 2", "No model has a cross-entropy below the entropy of the data.", BOUNDS,
     {"bounds": "Lemma 2; Lemma 2 applied to Theorem 5"}),
    ("Theorem 1", "Some data of about twice as many contexts is not memorised.",
     "generate adversarial -o NEW.jsonl", {"bounds": "Theorem 1"}),
    ("eq. (2)", "The one-layer decoder.", "explain one-layer DATA", {"methods": "one-layer"}),
    ("Theorem 2", "The rank of psi(a b^T) for a polynomial psi.",
     "check madden-theorem-2 --coefficients 1,1,0,1/2 --inputs 1,2,3,7/2",
     {"checks": "madden-theorem-2"}),
    ("Theorem 3", "The rank of psi(a b^T) for an analytic psi.",
     "check madden-theorem-3 --activation tanh --inputs 1,2,3", {"checks": "madden-theorem-3"}),
    ("Theorem 4", "Attention of dimension 1 maps contexts injectively to numbers.",
     "check madden-theorem-4 DATA", {"checks": "madden-theorem-4"}),
    ("Remark after Theorem 4", "Softmax with another base scales the values by a constant.",
     "check madden-theorem-4 --vocabulary 3 --length 3", {"checks": "madden-theorem-4"}),
    ("Theorem 5", "A one-layer decoder with m neurons has a capacity of at least m.",
     "compile DATA -o NEW --method one-layer",
     {"methods": "one-layer; one-layer-literal", "bounds": "Theorem 5"}),
    ("Algorithm after Theorem 5", "Random weights, small enough, and a linear system.",
     "compile DATA -o NEW --method one-layer-smooth", {"methods": "one-layer-smooth"}),
    ("eq. (3)", "The ratio of upper and lower bound.", DECODER, {"bounds": "eq. (3)"}),
    ("Theorem 6", "Weighted sums of token values map contexts injectively to numbers.",
     "check madden-theorem-6 DATA", {"checks": "madden-theorem-6"}),
    ("Theorem 7", "Token averaging with m neurons has a capacity of at least m.",
     "compile DATA -o NEW --method token-averaging",
     {"methods": "token-averaging", "bounds": "Theorem 7"}),
    ("Figure 1", "The smallest decoders that reach the entropy by training.",
     "reproduce madden-1", {"figures": "madden-1"}),
)  # fmt: skip

DANA_2024 = _table(
    "dana2024",
    ("eq. (1)", "A head of attention.", "explain attention-only DATA",
     {"methods": "attention-only"}),
    ("eq. (2)", "The attention-only transformer.", "explain attention-only DATA",
     {"methods": "attention-only"}),
    ("Assumption 1", "Every context has one next token.", "check dana-assumption-1 DATA",
     {"checks": "dana-assumption-1"}),
    ("Assumption 2", "Every token follows every context.", "check dana-assumption-2 DATA",
     {"checks": "dana-assumption-2"}),
    ("Definition 1", "Sequence encoders of dimension d.", ENCODER),
    ("Proposition 1", "No transformer is nearer to the data than the best encoder.", ENCODER,
     {"bounds": "Proposition 1"}),
    ("Proposition 2", "In N - 1 dimensions an encoder can have any distributions.", BOUNDS,
     {"bounds": "Proposition 2"}),
    ("Proposition 3", "In two dimensions an encoder can have any associations.", ENCODER,
     {"bounds": "Proposition 3"}),
    ("T_ε", "The fewest contexts that have 1 - ε of the probability.", "stats DATA"),
    ("Theorem 1", "H heads come as near as the best encoder if H d_h + d is at least T_ε.",
     "compile DATA -o NEW --method attention-only",
     {"methods": "attention-only; attention-only-approximate", "bounds": "Theorem 1",
      "checks": "dana-theorem-1"}),
    ("eq. (4)", "The error that C, ε and the encoder's norm allow.",
     "compile DATA -o NEW --method attention-only-approximate --epsilon 0.3",
     {"methods": "attention-only-approximate"}),
    ("Remarks 1", "The number of parameters, and an open question: a bound of C.", BOUNDS,
     {"bounds": "Remarks 1"}),
    ("Corollary 1", "H heads store H d_h + 2 associations in dimension 2.",
     "compile DATA -o NEW --method attention-only --dimension 2",
     {"methods": "attention-only", "bounds": "Corollary 1"}),
    ("Lemma 1", "Under Assumption 2 there is a best encoder.", ENCODER),
    ("Lemma 2", "Heads have features of the rank min(T, H d), for some weights.",
     f"check dana-lemma-2 DATA {HEADS}", {"checks": "dana-lemma-2"}),
    ("eq. (5)", "Eq. (16), in the main text.", "check dana-lemma-4", {"checks": "dana-lemma-4"}),
    ("Corollary 2", "The accuracy that a number of heads guarantees.",
     f"bounds --dataset DATA {PLAIN}", {"bounds": "Corollary 2"}),
    ("Theorem 2", "The divergence of an encoder of a near look-up table.",
     "bounds --dataset DATA --architecture dana2024 --vocabulary 2000 --dimension 1000 --heads 2 "
     "--head-dimension 2", {"bounds": "Theorem 2"}),
    ("eq. (6)", "The scale of the encoder of Theorem 2.",
     "compile DATA -o NEW --method attention-only --encoder look-up",
     {"methods": "attention-only"}),
    ("Lemma 3", "Numbers at which no polynomial with integer coefficients is zero: drawn at "
     "random, and the rank is checked.",
     f"check dana-lemma-2 DATA {HEADS}", {"checks": "dana-lemma-2"}),
    ("Definition 2", "Distributions that encoders approximate at a polynomial rate.",
     "check dana-lemma-4", {"checks": "dana-lemma-4"}),
    ("eq. (16)", "The rate of Definition 2.", "check dana-lemma-4", {"checks": "dana-lemma-4"}),
    ("Lemma 4", "The logits of such encoders grow like log(1 / δ).",
     "check dana-lemma-4 --delta 1/10", {"checks": "dana-lemma-4"}),
    ("Theorem 3", "Theorem 1 without Assumption 2, up to O(ε log(1 / ε)).", BOUNDS,
     {"bounds": "Theorem 3"}),
    ("Open question after Lemma 4", "Whether limits of encoders are limits of Definition 2.",
     BOUNDS, {"bounds": "Appendix A.4"}),
    ("Figure 1", "Accuracy against heads, and against head dimension.",
     "reproduce dana-1a dana-1b", {"figures": "dana-1a; dana-1b"}),
    ("Figure 2", "Accuracy against dimension, and the slope in the number of heads.",
     "reproduce dana-2a dana-2b", {"figures": "dana-2a; dana-2b"}),
    ("Figure 3", "Heads against neurons, at the same number of parameters.",
     "reproduce dana-3", {"figures": "dana-3"}),
    ("Figure 4", "Accuracy against heads in dimension 2.", "reproduce dana-4",
     {"figures": "dana-4"}),
)  # fmt: skip

KAJITSUKA_2025 = _table(
    "kajitsuka2025",
    ("Table 1", "Bounds of this paper and of others, side by side.", "bounds --table"),
    ("eq. (4)", "Transformers: E_in, blocks of attention and feed-forward layers, E_out.",
     EXTRACTION, {"methods": "bit-extraction"}),
    ("Remark 3.1", "E_in and E_out can be left out if parameters may grow with d.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Assumption 4.1", "Tokens lie in a ball and are apart.",
     "check separation DATA --radius 100 --distance 1", {"checks": "separation"}),
    ("Theorem 4.1", "Õ(sqrt(N)) parameters memorise N labelled sequences.",
     "compile DATA -o NEW --method bit-extraction",
     {"methods": "bit-extraction; hash-fold-retrieve; float64", "bounds": "Theorem 4.1"}),
    ("Remark 4.1", "The same for deep sets: Theorem D.1.",
     "compile DATA -o NEW --method deep-sets", {"methods": "deep-sets"}),
    ("Remark 4.2", "The same with an embedding layer: Theorem E.1.",
     "compile DATA -o NEW --method embedding", {"methods": "embedding"}),
    ("Remark 4.3", "The dimension d enters through E_in and E_out alone.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Definition 4.1", "Contextual mappings.", "check contextual-mapping DIR DATA",
     {"checks": "contextual-mapping"}),
    ("Remark 4.4", "Optimal in bits, for one label per sequence.", BOUNDS,
     {"bounds": "Remarks 4.4 and 4.6"}),
    ("Theorem 4.2", "Ω(sqrt(N)) parameters are needed for any two labels.", BOUNDS,
     {"bounds": "Theorem 4.2; Theorem 4.2, uniform attention"}),
    ("Corollary 4.1", "Õ(sqrt(nN)) parameters for a label for every token.",
     "compile TOKENS -o NEW --method seq2seq --form faithful",
     {"methods": "seq2seq", "bounds": "Corollary 4.1"}),
    ("Remark 4.5", "Sparse attention: 2n connections are enough.",
     "compile TOKENS -o NEW --method sparse-attention", {"methods": "sparse-attention"}),
    ("Remark 4.6", "Optimal in bits, for a label for every token.", "bounds --dataset TOKENS",
     {"bounds": "Remarks 4.4 and 4.6"}),
    ("eq. (12)", "Hard attention.", "compile DATA -o NEW --attention hard",
     {"methods": "hash-fold-retrieve"}),
    ("Theorem 4.3", "Ω(sqrt(nN / log(nN))) parameters, with hard attention.", BOUNDS,
     {"bounds": "Theorem 4.3"}),
    ("Open problem", "Whether softmax attention needs sqrt(nN) for a label for every token.",
     BOUNDS, {"bounds": "Open problem"}),
    ("Definition A.1", "Multisets.", "stats DATA"),
    ("Definition A.2", "The support of a multiset.", "stats DATA"),
    ("Assumption A.1", "Assumption 4.1 for multisets.",
     "check separation DATA --radius 100 --distance 1", {"checks": "separation"}),
    ("Definition B.1", "The restriction of a multiset to some tokens.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Lemma B.1", "N multisets differ in the counts of at most N tokens.", EXTRACTION,
     {"methods": "bit-extraction; deep-sets"}),
    ("Lemma B.2", "Numbers for tokens whose sums tell multisets apart.", EXTRACTION,
     {"methods": "bit-extraction; deep-sets"}),
    ("Lemma B.3", "A network with these numbers.", EXTRACTION,
     {"methods": "bit-extraction; deep-sets"}),
    ("Theorem B.1", "Theorem 4.1 with its bit complexity.",
     "compile DATA -o NEW --method bit-extraction",
     {"methods": "bit-extraction", "bounds": "Theorem 4.1"}),
    ("Footnote 2", "O(sqrt(N log(nN))) parameters, stated without a proof.", BOUNDS,
     {"bounds": "Footnote 2"}),
    ("Theorem B.2", "Theorem 4.2.", BOUNDS,
     {"bounds": "Theorem 4.2; Theorem 4.2, uniform attention"}),
    ("Lemma B.4", "The number of sign patterns of polynomials.", BOUNDS,
     {"bounds": "Theorem 4.3; by Lemma B.4 of kajitsuka2025"}),
    ("Theorem B.3", "Theorem 4.3.", BOUNDS, {"bounds": "Theorem 4.3"}),
    ("Lemma C.1", "A network for N of V points that is zero at the others.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Lemma C.2", "Points on a line, at least 2 apart.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Theorem D.1", "Õ(sqrt(N)) parameters memorise N labelled multisets.",
     "compile DATA -o NEW --method deep-sets --form faithful",
     {"methods": "deep-sets", "bounds": "Theorem D.1"}),
    ("Theorem E.1", "Token ids and an embedding matrix.",
     "compile DATA -o NEW --method embedding --form faithful",
     {"methods": "embedding", "bounds": "Theorem E.1"}),
    ("Lemma F.1", "Lemma C.1 with short parameters.",
     "explain limited-bits DATA --form faithful --bits 80", {"methods": "limited-bits"}),
    ("Theorem F.1", "Theorem 4.1 with at most B bits per parameter.",
     "compile DATA -o NEW --method limited-bits --form faithful --bits 80",
     {"methods": "limited-bits", "bounds": "Theorem F.1"}),
    ("Lemma G.1", "A direction in which distances shrink by little.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Lemma G.2", "A network that is 1 on an interval and 0 away from it.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Lemma G.3", "A staircase: the long number of each group of points.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Lemma G.4", "A network that reads some bits of a number.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Lemma G.5", "A network that compares two numbers.", EXTRACTION,
     {"methods": "bit-extraction"}),
    ("Lemma G.6", "A network that finds a key in one number and its value in another.",
     EXTRACTION, {"methods": "bit-extraction"}),
    ("Figure 1", "Training losses on MultiNLI, by depth.", "reproduce kajitsuka-1",
     {"figures": "kajitsuka-1"}),
    ("Figure 2", "Training losses on IMDb, by depth.", "reproduce kajitsuka-2",
     {"figures": "kajitsuka-2"}),
    ("Figure 3", "The smallest depth that memorises N sequences.", "reproduce kajitsuka-3",
     {"figures": "kajitsuka-3"}),
    ("Section H.2", "The length of sequences has little effect.", "reproduce kajitsuka-length",
     {"figures": "kajitsuka-length"}),
)  # fmt: skip

STATEMENTS = (*MADDEN_2024, *DANA_2024, *KAJITSUKA_2025)

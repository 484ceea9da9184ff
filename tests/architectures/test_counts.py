"""Architectures: their counts against the formulas of the papers, and against sums by hand."""

import inspect
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.architectures import (
    ADAPTED,
    ARCHITECTURES,
    NAMES,
    architecture,
    dana2024,
    dana2024_mlp,
    dana2024_program,
    decoder,
    kajitsuka2025,
    madden2024,
)
from byheart.errors import ByheartError
from byheart.softmax.decoder import ATTENTION, Shape
from byheart.theory import ArchitectureFacts
from byheart.theory.dana2024.capacity import parameters

sizes = st.integers(1, 40)


def test_dana2024_by_hand():
    """N = 50, S = 2, d = 10, 20 heads of 5: 500 + 20 + 500 + 4 * 1000."""
    found = dana2024(vocabulary=50, length=2, dimension=10, heads=20, head_dimension=5)
    assert found.parameters == 5020
    assert found.tensors["attention.query.weight"] == (100, 10)
    assert found.tensors["attention.out.weight"] == (10, 100)


def test_dana2024_program_by_hand():
    """N = 50, S = 2, d = 10, 20 heads of 6: 500 + 12 + 2 * 60 + 20 * 4 * 36 + 500."""
    found = dana2024_program(vocabulary=50, length=2, dimension=10, heads=20, head_dimension=6)
    assert found.parameters == 500 + 12 + 120 + 2880 + 500 == 4012
    assert found.tensors["compress.weight"] == (6, 10)
    assert found.tensors["decompress.weight"] == (10, 6)
    assert found.tensors["positions.weight"] == (2, 6)


@given(st.integers(2, 40), sizes, sizes, st.integers(1, 9), sizes)
def test_dana2024_program_is_eq_2_in_size_where_heads_are_as_wide_as_embeddings(N, S, d, H, d_h):
    found = dana2024_program(N, S, d, H, d_h)
    if d == d_h:
        assert found.tensors == dana2024(N, S, d, H, d_h).tensors
    else:
        assert found.parameters == 2 * N * d + S * d_h + 4 * d_h**2 * H + 2 * d * d_h


def test_dana2024_mlp_by_hand():
    """N = 50, S = 2, d = 10, w = 64: 500 + 20 + 500 + 4 * 100 + 2 * 640."""
    assert dana2024_mlp(vocabulary=50, length=2, dimension=10, width=64).parameters == 2700


def test_madden2024_by_hand():
    """omega = 1000, d = 16, m = 512: 16000 + 4 * 256 + 512 * 17 + 1000 * 513; 64 biases more."""
    found = madden2024(vocabulary=1000)
    assert found.parameters == 16000 + 1024 + 8704 + 513000 == 538728
    assert madden2024(1000, attention_biases=True).parameters == 538728 + 64
    assert found.fixed == {"positions.weight": (10, 16)} and "positions.weight" not in found.tensors


@given(st.integers(2, 40), sizes, sizes, st.integers(0, 9), sizes)
def test_dana2024_is_eq_2(N, S, d, H, d_h):
    if d_h <= d:
        assert dana2024(N, S, d, H, d_h).parameters == parameters(N, S, d, d_h, H)
    shape = Shape(N, S, d, ATTENTION, H, d_h, d_h, True, 0, "none")
    if H:  # the same tensors as the decoders that are built
        assert dana2024(N, S, d, H, d_h).tensors == shape.tensors


@given(st.integers(2, 40), sizes, sizes, st.integers(2, 9))
def test_neurons_and_heads_of_the_same_size(N, S, d, H):
    """Figure 3 compares models of equally many parameters: 2 d (H - 1) neurons for H heads."""
    neurons = dana2024_mlp(N, S, d, width=2 * d * (H - 1))
    assert neurons.parameters == dana2024(N, S, d, H, d).parameters


def test_sizes_are_checked():
    with pytest.raises(ByheartError, match="hidden.weight"):
        dana2024_mlp(50, 2, 10, width=0)
    with pytest.raises(ByheartError, match="dana2024: embedding.weight"):
        dana2024(0, 2, 10, 1, 1)
    assert all(name == build(5, 2, 3, 4, *rest).name for name, (build, rest) in calls().items())


HEADED = ("dana2024", "dana2024-program")  # which take heads and their dimension


def calls():
    more = dict.fromkeys((*HEADED, "gpt2"), (2,)) | {ADAPTED: (2, 1)}
    return {name: (build, more.get(name, ())) for name, build in ARCHITECTURES.items()}


# --- models that anyone can download: published counts, and sums by hand

PUBLISHED = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "pythia-14m": 14_067_712,
    "pythia-31m": 30_494_720,
    "pythia-70m": 70_426_624,
    "pythia-160m": 162_322_944,
    "pythia-410m": 405_334_016,
    "pythia-1b": 1_011_781_632,
    "pythia-1.4b": 1_414_647_808,
    "pythia-2.8b": 2_775_208_960,
    "pythia-6.9b": 6_857_302_016,
    "pythia-12b": 11_846_072_320,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "mistral-7b-v0.1": 7_241_732_096,
    "mistral-7b-v0.3": 7_248_023_552,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-0.6b": 596_049_920,
    "qwen3-1.7b": 1_720_574_976,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
}


def test_every_public_model_has_a_published_count():
    assert set(PUBLISHED) == set(NAMES) - set(ARCHITECTURES) | {"gpt2"}  # public without sizes


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name):
    found = architecture(name, {})
    assert (found.name, found.parameters) == (name, PUBLISHED[name])


def test_gpt2_by_hand():
    """An embedding that is the unembedding, positions, 12 layers of 12 d^2 + 13 d, a norm."""
    d = 768
    layer = (3 * d * d + 3 * d) + (d * d + d) + (4 * d * d + 4 * d) + (4 * d * d + d) + 4 * d
    assert layer == 12 * d * d + 13 * d
    assert architecture("gpt2", {}).parameters == 50257 * d + 1024 * d + 12 * layer + 2 * d
    assert architecture("gpt2", {}).fixed == {"output.weight": (50257, d)}


def test_gpt2_of_given_sizes_is_the_public_one_of_these_sizes():
    sizes = {"vocabulary": 50257, "length": 1024, "layers": 12, "dimension": 768, "heads": 12}
    assert architecture("gpt2", sizes) == architecture("gpt2", {})
    with pytest.raises(ByheartError, match="768 is not a multiple of the 5 heads"):
        architecture("gpt2", {**sizes, "heads": 5})


def test_pythia_by_hand():
    d = 512
    wanted = 2 * 50304 * d + 6 * (12 * d * d + 13 * d) + 2 * d
    assert architecture("pythia-70m", {}).parameters == wanted


def test_llama_by_hand():
    """Embedding, unembedding, 32 layers of four square maps, three of neurons and two norms."""
    d, m = 4096, 11008
    wanted = 2 * 32000 * d + 32 * (4 * d * d + 3 * d * m + 2 * d) + d
    assert architecture("llama-2-7b", {}).parameters == wanted


def test_heads_that_share_keys_by_hand():
    """Llama 3.2 1B: 32 heads of 64, 8 of keys and values; the unembedding is the embedding."""
    d, m = 2048, 8192
    layer = 2 * d * d + 2 * 8 * 64 * d + 3 * d * m + 2 * d
    assert architecture("llama-3.2-1b", {}).parameters == 128256 * d + 16 * layer + d


def test_qwen_by_hand():
    """Qwen 2.5 has biases for queries, keys and values; Qwen 3 has norms of heads instead."""
    d, m = 896, 4864
    layer = 2 * d * d + 2 * 128 * d + (d + 2 * 128) + 3 * d * m + 2 * d
    assert architecture("qwen2.5-0.5b", {}).parameters == 151936 * d + 24 * layer + d
    d, m, queries = 1024, 3072, 16 * 128
    layer = 2 * queries * d + 2 * 8 * 128 * d + 2 * 128 + 3 * d * m + 2 * d
    assert architecture("qwen3-0.6b", {}).parameters == 151936 * d + 28 * layer + d


def test_gemma_by_hand():
    """Gemma 2 has four norms per layer, Gemma 3 those of heads as well."""
    d, m = 2304, 9216
    layer = 2 * 2048 * d + 2 * 1024 * d + 3 * d * m + 4 * d
    assert architecture("gemma-2-2b", {}).parameters == 256000 * d + 26 * layer + d
    d, m = 1152, 6912
    layer = 2 * 1024 * d + 2 * 256 * d + 2 * 256 + 3 * d * m + 4 * d
    assert architecture("gemma-3-1b", {}).parameters == 262144 * d + 26 * layer + d


def test_kajitsuka2025_by_hand():
    """m = 2, q = 8: 42 parameters a block, 5 blocks in each part, W_V and W_O, a row out."""
    found = kajitsuka2025(vocabulary=100, length=8, layers=5)
    assert found.parameters == 200 + 10 * 42 + 8 + 2
    assert found.sizes["layers"] == 10 and found.sizes["attention"] == "uniform"


def test_words_as_fixed_vectors_by_hand():
    """64 coordinates to m = 2 instead of 100 words to m = 2; the vectors are not counted."""
    found = kajitsuka2025(vocabulary=100, length=8, layers=5, coordinates=64)
    assert found.parameters == 128 + 10 * 42 + 8 + 2
    assert found.fixed == {"vectors.weight": (100, 64)}
    assert found.tensors["embedding.weight"] == (64, 2)
    assert kajitsuka2025(vocabulary=100, length=8).fixed == {}


@given(st.integers(2, 40), sizes, sizes, st.integers(0, 9), sizes)
def test_a_decoder_without_neurons_is_dana2024(N, S, d, H, d_h):
    found = decoder(N, S, d, heads=H, head_dimension=d_h, width=0)
    assert found.sizes == dana2024(N, S, d, H, d_h).sizes
    assert found.parameters == dana2024(N, S, d, H, d_h).parameters


@given(sizes, sizes, sizes, sizes, sizes, sizes)
def test_a_decoder_of_any_sizes(N, S, d, H, d_h, w):
    soft = decoder(N, S, d, H, d_h, layers=3, width=w)
    layer = 4 * H * d_h * d + 2 * d * w + w + d
    assert soft.parameters == 2 * N * d + S * d + 3 * layer
    uniform = decoder(N, S, d, H, d_h, layers=3, width=w, attention="uniform")
    assert soft.parameters - uniform.parameters == 3 * 2 * H * d_h * d


@pytest.mark.parametrize("name", NAMES)
def test_sizes_are_facts_of_bounds(name):
    if name in ARCHITECTURES:
        given = {"vocabulary": 5, "length": 2, "dimension": 6}
        given |= {"heads": 2, "head_dimension": 3} if name in HEADED else {}
        given |= {"width": 7} if name == "dana2024-mlp" else {}
        given |= {"layers": 1, "heads": 2} if name == "gpt2" else {}
        found = architecture(name, given)
    else:
        found = architecture(name, {})
    model = ArchitectureFacts(parameters=found.parameters, bits=16, **found.sizes)
    assert all(fact is not None for fact in model.facts.values())


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("gpt3", {}, "no architecture 'gpt3'; there are: dana2024, .*pythia-12b.*config.json"),
        ("gpt2-xl", {"dimension": 5}, "gpt2-xl takes no dimension="),
        ("gpt2", {"dimension": 5}, "gpt2 needs vocabulary=..., length=..., layers=..., heads="),
        ("madden2024", {"vocabulary": 5, "head_dimension": 2}, "takes no head_dimension="),
        ("madden2024", {}, "madden2024 needs vocabulary="),
        ("decoder", {"vocabulary": 5}, "decoder needs length=..., dimension="),
    ],
)
def test_what_an_architecture_refuses(name, given, said):
    with pytest.raises(ByheartError, match=said):
        architecture(name, given)


def test_width_is_the_number_of_neurons():
    assert architecture("madden2024", {"vocabulary": 9, "width": 3}) == madden2024(9, neurons=3)


def test_no_code_compares_the_name_of_an_architecture():
    """What differs between architectures stands in their records."""
    package = Path(byheart.__file__).parent
    compared = re.compile(r"""[=!]= ["'](madden2024|kajitsuka2025|dana2024(-mlp|-program)?)["']""")
    own = [*(package / "lab").rglob("*.py"), *(package / "architectures").rglob("*.py")]
    assert [str(path) for path in own if compared.search(path.read_text())] == []


def test_every_trainable_architecture_can_be_described():
    from byheart.architectures.trainable import TRAINABLE, trainable

    for name, record in TRAINABLE.items():
        assert trainable(name) is record and name in ARCHITECTURES
        takes = inspect.signature(ARCHITECTURES[name]).parameters
        own = (record.sizes, record.equal, record.from_data, record.always, record.optional)
        for sizes in own:
            assert set(sizes) <= set(takes)
    with pytest.raises(ByheartError, match="'gpt2-xl' cannot be trained here; there are: madden"):
        trainable("gpt2-xl")

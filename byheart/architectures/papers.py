"""The architectures of the papers."""

from .description import Architecture, Sizes, Tensors, sizes_of


def dana2024(
    vocabulary: int, length: int, dimension: int, heads: int, head_dimension: int
) -> Architecture:
    """Attention only: d (S + 2 N + 4 d_h H) parameters. W_QK is W_Q^T W_K, of rank d_h."""
    d = dimension
    own: Sizes = {"heads": heads, "head_dimension": head_dimension, "activation": "none"}
    return Architecture(
        "dana2024",
        "dana2024, eq. (2)",
        "W_U (e(t_S) + pos_S + W_O W_V A(t))",
        {
            **_embeddings(vocabulary, length, d),
            **(_attention(d, heads * head_dimension) if heads else {}),
            "output.weight": (vocabulary, d),
        },
        sizes_of("dana2024", vocabulary, length, d, 0, **own),
    )


def dana2024_program(
    vocabulary: int, length: int, dimension: int, heads: int, head_dimension: int
) -> Architecture:
    """The program of the published numbers: 2 N d + S d_h + 4 d_h^2 H, and 2 d d_h if d != d_h.

    It is not eq. (2): all heads share one map C to their dimension and one map D back, so together
    they read and write d_h coordinates; a head has four matrices of d_h x d_h. Where d = d_h, C and
    D are the identity and are not learnt. Positions have d_h coordinates and only attention reads
    them. What the program has and never reads is not counted: a third position, C and D if d = d_h.
    """
    d, d_h = dimension, head_dimension
    own: Sizes = {"heads": heads, "head_dimension": d_h, "activation": "none"}
    shared: Tensors = {"compress.weight": (d_h, d), "decompress.weight": (d, d_h)}
    return Architecture(
        "dana2024-program",
        "dana2024, the program of section 4.2",
        "W_U (e(t_S) + D W_O W_V A(z)), z_j = C e(t_j) + pos_j, scores over sqrt(d_h)",
        {
            "embedding.weight": (vocabulary, d),
            "positions.weight": (length, d_h),
            **(shared if d != d_h else {}),
            **_attention(d_h, heads * d_h),
            "output.weight": (vocabulary, d),
        },
        sizes_of("dana2024-program", vocabulary, length, d, 0, **own),
    )


def dana2024_mlp(vocabulary: int, length: int, dimension: int, width: int) -> Architecture:
    """One head of dimension d and w neurons: as many as of 1 + w / (2 d) heads without them."""
    d = dimension
    return Architecture(
        "dana2024-mlp",
        "dana2024, section 4.2.1",
        "W_U (W_2 GELU(W_1 x) + x), x = e(t_S) + pos_S + W_O W_V A(t)",
        {
            **_embeddings(vocabulary, length, d),
            **_attention(d, d),
            "hidden.weight": (width, d),
            "down.weight": (d, width),
            "output.weight": (vocabulary, d),
        },
        sizes_of("dana2024-mlp", vocabulary, length, d, width),
    )


def madden2024(
    vocabulary: int,
    length: int = 10,
    dimension: int = 16,
    neurons: int = 512,
    attention_biases: bool = False,
) -> Architecture:
    """The experiment: w d + 4 d^2 + m (d + 1) + w (m + 1) parameters, w the vocabulary.

    Sinusoidal positions are not learnt. "A bias in both linear layers" are those of hidden and
    output; the authors' program has them in the four maps of attention as well: 4 d more.
    """
    d, m = dimension, neurons
    maps = _attention(d, d)
    biases: Tensors = {name.replace("weight", "bias"): (d,) for name in maps}
    return Architecture(
        "madden2024",
        "madden2024, section 7",
        "V^T GELU(W^T attention(e(t) + sinusoids) + b) + c, one head, no skip connection",
        {
            "embedding.weight": (vocabulary, d),
            **maps,
            **(biases if attention_biases else {}),
            "hidden.weight": (m, d),
            "hidden.bias": (m,),
            "output.weight": (vocabulary, m),
            "output.bias": (vocabulary,),
        },
        sizes_of("madden2024", vocabulary, length, d, m, biased=True),
        {"positions.weight": (length, d)},
    )


def kajitsuka2025(
    vocabulary: int,
    length: int,
    layers: int = 1,
    dimension: int = 2,
    labels: int = 1,
    coordinates: int = 0,
) -> Architecture:
    """The experiment: feed-forward blocks, one uniform attention layer, as many blocks again.

    Blocks of eq. (3) have q = 4 m neurons: 2 m q + q + m parameters. The paper does not give the
    head size; we take m. E_out gives one number, or one per label.

    E_in is an embedding of the vocabulary or, with `coordinates`, a map of them to m: each word is
    then a fixed random vector, as the theorems have words, and E_in is all that is learnt of it.
    """
    m, q = dimension, 4 * dimension
    fixed: Tensors = {"vectors.weight": (vocabulary, coordinates)} if coordinates else {}
    own: Sizes = {"layers": 2 * layers, "attention": "uniform", "activation": "relu"}
    own |= {"outputs": labels, "positions": False}
    return Architecture(
        "kajitsuka2025",
        "kajitsuka2025, eq. (165)",
        "E_out F_2 (UA (F_1 (E_in X)))",
        {
            "embedding.weight": (coordinates or vocabulary, m),
            **{
                f"{part}.{i}.{name}": shape
                for part in ("first", "second")
                for i in range(layers)
                for name, shape in _feed_forward(m, q).items()
            },
            "attention.value.weight": (m, m),
            "attention.out.weight": (m, m),
            "output.weight": (labels, m),
        },
        sizes_of("kajitsuka2025", vocabulary, length, m, q, **own),
        fixed,
    )


def decoder(
    vocabulary: int,
    length: int,
    dimension: int,
    heads: int = 1,
    head_dimension: int | None = None,
    layers: int = 1,
    width: int | None = None,
    attention: str = "softmax",
    activation: str = "relu",
) -> Architecture:
    """Any sizes: embeddings, layers of attention and neurons with skip connections, unembedding.

    By default heads share the dimension and a layer has 4 d neurons. Maps of attention have no
    biases, neurons have; uniform attention has no queries and keys. One layer without neurons is
    the model of dana2024, eq. (2).
    """
    d, q = dimension, 4 * dimension if width is None else width
    d_h = max(1, d // max(heads, 1)) if head_dimension is None else head_dimension
    kept = ("value", "out") if attention == "uniform" else ("query", "key", "value", "out")
    maps = _attention(d, heads * d_h) if heads else {}
    block = {name: shape for name, shape in maps.items() if name.split(".")[1] in kept}
    block |= _feed_forward(d, q) if q else {}
    own: Sizes = {"heads": heads, "head_dimension": d_h, "layers": layers, "attention": attention}
    own |= {"activation": activation if q else "none"}
    alone = layers == 1 and not q and attention == "softmax"
    return Architecture(
        "decoder",
        "a decoder of these sizes",
        "W_U x_L, x_l = y_l + W_2 psi(W_1 y_l + b_1) + b_2, y_l = x_(l-1) + attention(x_(l-1))",
        {
            **_embeddings(vocabulary, length, d),
            **{f"layers.{i}.{name}": s for i in range(layers) for name, s in block.items()},
            "output.weight": (vocabulary, d),
        },
        sizes_of("dana2024" if alone else "decoder", vocabulary, length, d, q, **own),
    )


def _embeddings(vocabulary: int, length: int, dimension: int) -> Tensors:
    return {"embedding.weight": (vocabulary, dimension), "positions.weight": (length, dimension)}


def _attention(dimension: int, rows: int) -> Tensors:
    maps: Tensors = {f"attention.{x}.weight": (rows, dimension) for x in ("query", "key", "value")}
    return {**maps, "attention.out.weight": (dimension, rows)}


def _feed_forward(dimension: int, width: int) -> Tensors:
    return {
        "hidden.weight": (width, dimension),
        "hidden.bias": (width,),
        "down.weight": (dimension, width),
        "down.bias": (dimension,),
    }

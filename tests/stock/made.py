"""Small checkpoints made by hand, and the margins that byheart and the checker prove."""

import json
from array import array
from types import SimpleNamespace

import numpy as np

import check
import check_stock
from byheart.stock.arithmetic import Unbounded
from byheart.stock.checkpoint import Checkpoint, shapes
from byheart.stock.enclose import margins
from tests.stock.adversary import attacked


def gpt2(lanes, vocabulary, neurons=1, heads=1, places=4, epsilon=1e-5, layers=1, **tensors):
    """A GPT-2 in which all tensors but these and the gains are 0."""
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "tie_word_embeddings": True,
        "vocab_size": vocabulary, "n_positions": places, "n_embd": lanes, "n_layer": layers,
        "n_head": heads, "n_inner": neurons, "activation_function": "gelu_new",
        "layer_norm_epsilon": epsilon, "bos_token_id": 0, "eos_token_id": 0, "dtype": "float32",
    }  # fmt: skip
    return filled(config, tensors)


def llama(
    lanes, vocabulary, neurons=1, heads=1, size=2, places=4, epsilon=1e-5, theta=1e4, **tensors
):
    """A Llama of one block in which all tensors but these and the gains are 0."""
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True,
        "vocab_size": vocabulary, "max_position_embeddings": places, "hidden_size": lanes,
        "num_hidden_layers": 1, "num_attention_heads": heads, "num_key_value_heads": heads,
        "head_dim": size, "intermediate_size": neurons, "hidden_act": "silu",
        "rms_norm_eps": epsilon, "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "bos_token_id": 0, "eos_token_id": 0, "dtype": "float32",
    }  # fmt: skip
    return filled(config, tensors)


def filled(config, tensors):
    """tensors  by the last words of their names, with _ for the points"""
    given, used = {}, set()
    for name, shape in shapes(config).items():
        gain = len(shape) == 1 and name.endswith("weight")
        own = next((x for x in tensors if name.replace(".", "_").endswith(x)), None)
        value = tensors[own] if own else float(gain)
        given[name] = np.broadcast_to(np.asarray(value, np.float32), shape).copy()
        used.add(own)
    assert used >= tensors.keys()
    return Checkpoint(config, given)


def proved(network, tokens, answer):
    """The margin that byheart proves, or None."""
    try:
        found = float(margins(network, [np.array(tokens)], np.array([answer])).margin[0])
    except Unbounded:
        return None
    return found if np.isfinite(found) else None


def rebuilt(network):
    """The network as the independent checker sees it."""
    content = json.dumps(dict(network.config)).encode()
    shape, _ = check_stock.read_shape(content)
    tensors = {
        name: array("f", x.astype(np.float32).tobytes()) for name, x in network.tensors.items()
    }
    claim = {"dtype": network.dtype}
    stock = SimpleNamespace(shape=shape, tensors=tensors, certificate=claim)
    return check_stock.Builder(stock).network()


def checked(network, tokens, answer):
    """The margin that the independent checker shows, or None."""
    try:
        return rebuilt(network).answer([int(x) for x in tokens], int(answer)).margin / 2**60
    except check.Refusal:
        return None


def shares(network, tokens, answer):
    """Which part of each bound the adversary uses: above 1, the bound is wrong."""
    bounds = proved(network, tokens, answer), checked(network, tokens, answer)
    exact, worst = attacked(network, tokens, int(answer))
    if network.dtype == "float16":
        worst = min(worst, attacked(network, tokens, int(answer), apart=True)[1])
    return [
        (exact - worst) / (exact - bound) if bound < exact else np.inf
        for bound in bounds
        if bound is not None
    ]

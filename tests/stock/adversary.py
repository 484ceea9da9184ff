"""Executions of checker/FORMAT.md, section 10, and a search for the one with the smallest margin.

Every rounding that the section allows is a variable from -1 to 1, and the network is evaluated in
doubles with them; in float16, results are stored as often as it allows. Signs of gradients look for
the execution in which the answer's logit exceeds the others by the least. Written from FORMAT.md:
nothing here is taken from byheart's bounds.
"""

import math

import torch

UNIT, HALF = 2.0**-24, 2.0**-11


def gamma(terms):
    return terms * UNIT / (1 - terms * UNIT)


def numbers(x):
    return None if x is None else torch.from_numpy(x.astype("float64"))


class Execution:
    """One execution of a checkpoint: `off` are its variables by name, 0 where nothing is wrong.

    apart  of float16: whether scores have their factor in both operands, as fused attention may
    """

    def __init__(self, network, apart=False):
        self.network, self.rms, self.off, self.apart = network, network.family.rms, {}, apart
        self.blocks = [
            {name: numbers(x) for name, x in network.block(i)._asdict().items()}
            for i in range(network.depth)
        ]
        self.embedding, self.places = numbers(network.embedding), numbers(network.places)
        self.final = [numbers(x) for x in network.final]

    def wrong(self, name, size):
        """An error of at most this size."""
        if name not in self.off:
            self.off[name] = torch.zeros(size.shape, dtype=torch.float64, requires_grad=True)
        return size * self.off[name]

    def stored(self, name, x):
        """Storage: a result of float16; an exact 0 stays 0."""
        if self.network.dtype == "float32":
            return x
        assert float(x.detach().abs().max()) <= 65504
        return x + self.wrong(f"{name} stored", (HALF * x.abs() + 2.0**-25) * (x != 0))

    def rounded(self, name, x, units=1):
        """Rules 1 and 2: a relative error."""
        return x + self.wrong(name, units * UNIT * x.abs())

    def each(self, name, x, units=1):
        """An operation of its own, whose result is stored."""
        return self.stored(name, self.rounded(name, x, units))

    def added(self, name, x, y):
        """Rule 1; what is exactly 0 adds nothing."""
        return self.stored(name, x + y + self.wrong(name, UNIT * (x + y).abs() * (y != 0)))

    def product(self, name, x, weights, bias):
        """Rule 1: a sum of k products that are not exactly 0 is within gamma(k + 1)."""
        terms = (x != 0).double() @ (weights != 0).double()
        result, total = x @ weights, x.abs() @ weights.abs()
        if bias is not None:
            terms, total = terms + (bias != 0), total + bias.abs()
            if bias.any():  # the product may be stored before its bias is added
                result = self.stored(f"{name} first", result) + bias
        return self.stored(name, result + self.wrong(name, gamma(terms + 1) * total))

    def norm(self, name, x, gain, bias):
        """Rule 4."""
        lanes, epsilon = x.shape[-1], self.network.epsilon
        squares = (x * x).mean(-1, keepdim=True)
        if self.rms:
            mean = torch.zeros_like(squares)
            spread = squares + self.wrong(f"{name} squares", gamma(lanes + 4) * squares)
        else:
            centre = x.mean(-1, keepdim=True)
            size = x.abs().mean(-1, keepdim=True)
            mean = centre + self.wrong(f"{name} mean", gamma(lanes + 48) * size)
            spread = ((x - centre) ** 2).mean(-1, keepdim=True)
            size = gamma(lanes + 16) * (squares + 2 * mean.abs() * size)
            spread = spread + self.wrong(f"{name} variance", size)
        scale = self.rounded(f"{name} scale", 1 / torch.sqrt(spread + epsilon), 10)
        result = (x - mean) * scale * gain
        size = 6 * UNIT * (x.abs() + mean.abs()) * gain.abs() * scale
        result = result + self.wrong(f"{name} lanes", size)
        result = self.rounded(f"{name} result", result if bias is None else result + bias, 2)
        return self.stored(name, result)

    def wheel(self, places):
        """Cosines and sines of rotary positions [n, s / 2]: rule 6, and rule 2 for cos and sin."""
        size = self.network.head_size
        wave = torch.arange(size // 2).double() * (-2 / size)
        wave = self.rounded("waves", torch.tensor(self.network.rotary_base).double() ** wave, 16)
        angle = self.rounded("angles", places[:, None] * wave)
        absolute = torch.full_like(angle, 8 * UNIT)
        return (
            torch.cos(angle) + self.wrong("cos", absolute),
            torch.sin(angle) + self.wrong("sin", absolute),
        )

    def turned(self, name, y, cos, sin):
        """Rotary positions of heads [H, n, s]: rule 1."""
        a, b = y.chunk(2, dim=-1)

        def times(lane, x, factor):
            return self.rounded(f"{name} {lane}", x * factor)

        first = times(0, a, cos) - times(1, b, sin)
        second = times(2, b, cos) + times(3, a, sin)
        return self.rounded(f"{name} sums", torch.cat([first, second], -1))

    def attention(self, name, block, x):
        network, (length, _) = self.network, x.shape
        heads, size = network.size("heads"), network.head_size
        y = self.norm(f"{name} norm", x, block["norm1"], block["norm1_bias"])
        weights = torch.cat([block["query"], block["key"], block["value"]], 1)
        read = self.product(f"{name} read", y, weights, block["attention_bias"])
        query, key, value = read.view(length, 3, heads, size).permute(1, 2, 0, 3)
        place = torch.arange(length).double()
        if self.rms:
            wheel = self.wheel(place)
            query = self.turned(f"{name} query", query, *wheel)
            key = self.turned(f"{name} key", key, *wheel)
        if self.apart:  # the factor is applied to both operands
            query = self.stored(f"{name} query", query / size**0.25) * size**0.25
            key = self.stored(f"{name} key", key / size**0.25) * size**0.25
        total = query.abs() @ key.abs().transpose(1, 2)
        scores = query @ key.transpose(1, 2) + self.wrong(f"{name} sums", gamma(size + 1) * total)
        if not self.apart:
            scores = self.stored(f"{name} sums", scores)
        scores = self.rounded(f"{name} scores", scores / math.sqrt(size), 2)
        scores = self.stored(f"{name} scores", scores)
        scores = scores.masked_fill(place[None] > place[:, None], -math.inf)
        share = torch.softmax(scores, -1)
        divided = share if self.apart else self.stored(f"{name} share", share)
        if self.apart and self.network.dtype != "float32":  # weights are stored, then divided
            weights = self.stored(f"{name} weights", torch.exp(scores - scores.amax(-1, True)))
            divided = weights / weights.sum(-1, keepdim=True)
        size = gamma(3 * place[:, None] + 128) * (share @ value.abs())  # rule 5
        mixed = self.stored(name, divided @ value + self.wrong(f"{name} mixed", size))
        mixed = mixed.transpose(0, 1).reshape(length, -1)
        return self.product(f"{name} out", mixed, block["out"], block["out_bias"])

    def activated(self, name, z):
        """Rules 2, 3 and 7: every operation of the formula, and its constants."""

        def constant(part, value):
            return self.each(f"{name} {part}", torch.full_like(z, value))

        kind = self.network.config["hidden_act" if self.rms else "activation_function"]
        if kind == "silu":
            power = self.rounded(f"{name} exp", torch.exp(-z.clamp(min=-88)), 8)
            share = self.rounded(f"{name} sum", 1 + power)
            return torch.where(z < -88, 0.0, self.rounded(f"{name} quotient", z / share))
        if kind == "gelu":
            inner = self.each(f"{name} inner", z * constant("root", math.sqrt(0.5)))
            least, curve, far = -5, torch.erf, 16
        else:
            near = z if self.network.dtype == "float32" else z.clamp(-16, 16)  # tanh is 1 beyond
            square = self.each(f"{name} square", near * near)
            cube = self.each(f"{name} cube", square * near)
            cube = self.each(f"{name} part", cube * constant("factor", 0.044715))
            inner = self.each(f"{name} argument", near + cube)
            inner = inner * constant("root", math.sqrt(2 / math.pi))
            least, curve, far = -20, torch.tanh, 8
            inner = self.each(f"{name} inner", inner)
        value = self.each(f"{name} curve", curve(inner), far).clamp(-1, 1)
        value = torch.where(inner < least, -1.0, value)
        value = self.each(f"{name} sum", 1 + value)
        return self.each(f"{name} product", z / 2 * value)

    def mlp(self, name, block, x):
        y = self.norm(f"{name} norm", x, block["norm2"], block["norm2_bias"])
        if block["gate"] is None:
            z = self.product(f"{name} up", y, block["up"], block["up_bias"])
            hidden = self.activated(f"{name} curve", z)
        else:
            z = self.product(f"{name} gate", y, block["gate"], None)
            factor = self.product(f"{name} up", y, block["up"], None)
            hidden = self.rounded(f"{name} gated", self.activated(f"{name} curve", z) * factor)
        return self.product(f"{name} down", hidden, block["down"], block["down_bias"])

    def logits(self, tokens):
        x = self.embedding[torch.as_tensor(tokens)]
        if self.places is not None:
            x = self.each("embedding", x + self.places[: len(tokens)])
        for layer, block in enumerate(self.blocks):
            if block["out"].any() or (block["out_bias"] is not None and block["out_bias"].any()):
                out = self.attention(f"attention {layer}", block, x)
                x = self.added(f"after attention {layer}", x, out)
            out = self.mlp(f"mlp {layer}", block, x)
            x = self.added(f"after mlp {layer}", x, out)
        y = self.norm("last norm", x[-1:], *self.final)
        return self.product("logits", y, self.embedding.T, None)[0]


def lead(logits, answer):
    """The answer's logit minus the largest other one."""
    return logits[answer] - torch.cat([logits[:answer], logits[answer + 1 :]]).max()


def attacked(network, tokens, answer, rivals=2, steps=4, apart=False):
    """The margin without rounding errors, and the smallest one that was found with them."""
    execution = Execution(network, apart)
    with torch.no_grad():
        logits = execution.logits(tokens)
        exact = worst = float(lead(logits, answer))
        order = [int(i) for i in logits.argsort(descending=True) if int(i) != answer]
    for rival in order[:rivals]:
        for variable in execution.off.values():
            variable.data.zero_()
        for _ in range(steps + 1):
            logits = execution.logits(tokens)
            worst = min(worst, float(lead(logits.detach(), answer)))
            names = list(execution.off)
            slopes = torch.autograd.grad(
                logits[answer] - logits[rival], list(execution.off.values()), allow_unused=True
            )
            for name, slope in zip(names, slopes, strict=True):
                if slope is not None:
                    off = execution.off[name].data
                    execution.off[name].data = torch.where(slope == 0, off, -slope.sign())
    return exact, worst


def pushed(operation, network, sign):
    """What an operation gives, lane by lane as large (or as small) as it may be. All errors are -1
    at first: what matters by its square alone has no slope at 0."""
    execution = Execution(network)
    operation(execution)
    for variable in execution.off.values():
        variable.data.fill_(-1)
    for _ in range(3):
        slopes = torch.autograd.grad(operation(execution).sum(), list(execution.off.values()))
        for variable, slope in zip(execution.off.values(), slopes, strict=True):
            variable.data = torch.where(slope == 0, variable.data, sign * slope.sign())
    return operation(execution).detach().numpy()

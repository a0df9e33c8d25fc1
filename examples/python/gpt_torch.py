"""A small GPT in PyTorch.  Three lines, marked below, make the loss and the optimizer Quern's; --plain runs it without them.

    pip install torch numpy quern_kernels-*.whl
    python examples/python/gpt_torch.py
"""
import time

import quern.torch                                              # 1
import torch
import torch.nn.functional as F
from text import BATCH, HEADS, LAYERS, LENGTH, WIDTH, arguments, batches, peak_mb, tokens


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(WIDTH) for _ in range(2)])
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = self.qkv(self.norms[0](x)).reshape(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.out(mixed)
        return x + self.mlp(self.norms[1](x))


class GPT(torch.nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(vocab, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, vocab, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.tokens(x) + self.places.weight)))


def main():
    options = arguments(__doc__.split("\n")[0])
    numbers, vocab = tokens(options.text)
    torch.manual_seed(0)
    model = GPT(vocab)
    if options.plain:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        loss_of = lambda logits, labels: F.cross_entropy(logits.flatten(0, 1), labels.flatten())  # noqa: E731
    else:
        optimizer = quern.torch.AdamW(model.parameters(), lr=1e-3)   # 2
        loss_of = lambda logits, labels: quern.torch.cross_entropy(logits, labels, inplace=True)  # 3  # noqa: E731
    began = time.perf_counter()
    for step, (inputs, labels) in enumerate(batches(numbers, options.steps)):
        optimizer.zero_grad()
        loss = loss_of(model(torch.from_numpy(inputs)), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            rate = (step + 1) * BATCH * LENGTH / (time.perf_counter() - began)
            print(f"step {step + 1}: loss {loss.item():.4f}, {rate:,.0f} tokens/s, {peak_mb()} MB", flush=True)


if __name__ == "__main__":
    main()

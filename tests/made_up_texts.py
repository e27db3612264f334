"""Labelled texts that are made up: classes of words whose vectors lie together, some with vectors and some without."""

import numpy as np

from cptw_search import WordVectors
from cptw_search.evaluation.datasets import LabelledTexts

N_CLASSES = 3
N_WORDS = 30


def word(label: int, number: int) -> str:
    return f"w{'abc'[label]}{number}"


def make_vectors(seed: int = 0) -> WordVectors:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(N_CLASSES, 16))
    words = [word(label, number) for label in range(N_CLASSES) for number in range(N_WORDS) if number % 5]
    rows = [centres["abc".index(one[1])] + 0.8 * random.normal(size=16) for one in words]
    return WordVectors(words, np.array(rows))


def make_texts(n: int = 90, *, seed: int = 0, split: bool = False, name: str = "made-up") -> LabelledTexts:
    """Each text has words of its class, some of another class, and a few that it shares with nobody."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for document in range(n):
        label = document % N_CLASSES
        own = [word(label, number) for number in random.integers(N_WORDS, size=6)]
        other = [word(int(random.integers(N_CLASSES)), number) for number in random.integers(N_WORDS, size=3)]
        texts.append(" ".join([*own, *other, f"only{document}"]))
        labels.append(f"class {label}")
    texts[-1] = texts[0]  # a copy, of the same class where n is a multiple of the number of classes plus one
    labels[-1] = labels[0]
    is_test = np.arange(n) % 4 == 3 if split else None
    return LabelledTexts(name, tuple(texts), tuple(labels), is_test)

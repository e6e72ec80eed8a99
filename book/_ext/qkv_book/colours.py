"""The colours of code: few, and none of those that mean Q, K, V or weights in this book.

Names, operators and punctuation, most of every program, stay in ink. Contrast on the ground of code
is at least 5 to 1 in both themes.
"""

from __future__ import annotations

STYLES = {
    # Pygments' short names of tokens: (light, dark, more)
    "c ch cm cp cpf c1 cs": ("var(--qkv-muted)", "var(--qkv-muted)", "font-style:italic"),
    "k kc kd kn kp kr ow": ("inherit", "inherit", "font-weight:650"),
    "s sa sb sc dl sd s2 se sh sx sr s1 ss": ("#0a6468", "#86d3d0", ""),
    "m mb mf mh mi mo il kt": ("#96204c", "#f5a9c0", ""),
    "nf nc nd fm": ("inherit", "inherit", "font-weight:650"),
    "err gr gt ne": ("#96204c", "#f5a9c0", ""),
}

TOKENS = frozenset(name for names in STYLES for name in names.split())
"""The tokens that look different from the text around."""


def code_colours() -> str:
    """Return the rules of both themes."""
    rules = []
    for names, (light, dark, more) in STYLES.items():
        for theme, colour in (("light", light), ("dark", dark)):
            chosen = ",".join(f".{name}" for name in names.split())
            rules.append(
                f'html[data-theme="{theme}"] .highlight :is({chosen}){{color:{colour};{more}}}'
            )
    return "\n".join(rules)

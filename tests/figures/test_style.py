"""Every figure is SVG text that is the same twice, has no date, and leaves pyplot alone."""

import subprocess
import sys
import xml.etree.ElementTree as ET

from qkv.figures.style import COLOURS, MINUS, figure, number


def test_a_figure_shows_itself_as_svg():
    fig, ax = figure(3.0, 2.0)
    ax.text(0.5, 0.5, "cat")
    bundle = fig._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml"]
    root = ET.fromstring(bundle["image/svg+xml"])
    assert root.tag.endswith("svg")
    assert "cat" in "".join(root.itertext())  # text stays text, to be found and read


def test_equal_input_gives_equal_bytes_without_a_date():
    def draw():
        fig, ax = figure(3.0, 2.0)
        ax.plot([0, 1], [0, 2], color=COLOURS["q"])
        return fig.svg()

    assert draw() == draw()
    assert "<dc:date>" not in draw()


def test_the_ground_is_transparent():
    fig, _ = figure(3.0, 2.0)
    assert "fill: #ffffff" not in fig.svg()


def test_pyplot_is_not_needed():
    code = (
        "import sys, qkv; assert 'matplotlib' not in sys.modules;"
        "from qkv import figures; figures.lengths(['a'], [1.0]).svg();"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numbers_have_a_real_minus_and_no_negative_zero():
    assert number(-0.004) == "0.00"
    assert number(-0.006) == MINUS + "0.01"
